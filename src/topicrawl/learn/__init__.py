"""Models that are fitted to numbers: pure, deterministic, and ignorant of pages and links."""
