"""Step 3. From a URL to a response: HTTP, robots.txt, the address guard, and recorded webs."""
