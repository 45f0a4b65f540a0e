"""`python tests/shops`."""

from command import main

main()
