"""Run the `topicrawl` command with `python -m topicrawl`."""

from topicrawl.cli import main

main()
