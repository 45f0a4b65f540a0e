"""Files that people write in YAML, read with the place of everything in them, and errors as a compiler prints them."""
