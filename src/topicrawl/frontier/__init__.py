"""Known links, best first, host by host."""
