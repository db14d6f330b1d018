"""Text as people and models read it: segments of a file, and what was hidden in them."""
