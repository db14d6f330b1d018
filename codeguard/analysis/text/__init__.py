"""Text as people and models read it: segments of a file, and hidden text in them."""
