"""The shell under a loop, a network, a wall clock and a collector that a seed decides about."""
