"""Steps 2 and 8. Known links, best first, host by host."""
