"""`python -m topicrawl` is the `topicrawl` command."""

from topicrawl.cli import main

main()
