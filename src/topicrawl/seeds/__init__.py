"""Step 1, second half: where to start: search engines that vote, who links to a page, and what engines say of it."""
