"""Step 2. Where to start: search engines that vote, who links to a page, and what engines say of it."""
