"""The shell with a loop, a network, a wall clock and a garbage collector that are controlled by a seed."""
