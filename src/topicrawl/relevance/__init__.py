"""Step 5. From a page to how much it is about the topic; one model a file."""
