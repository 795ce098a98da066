"""Links as numbers: what can be seen of them, and the many that wait, scored together."""
