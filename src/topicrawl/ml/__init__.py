"""Machine learning models over numbers: pure and deterministic, independent of pages and links."""
