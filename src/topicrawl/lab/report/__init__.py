"""Reports of a comparison: an HTML page, charts, CSV and JSON files."""
