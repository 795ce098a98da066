"""Find start pages and backlinks with search engines, and fetch example pages."""
