"""Export the pages of a collection to files."""
