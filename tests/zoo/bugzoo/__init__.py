"""The bug zoo: a correct small merchant, and what becomes of it when one thing in it is wrong."""
