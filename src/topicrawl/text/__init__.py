"""From words to vectors; pure."""
