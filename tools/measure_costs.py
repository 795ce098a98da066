"""Measure the CPU time per page of each strategy and write src/topicrawl/strategies/costs.json.

    python tools/measure_costs.py              all strategies
    python tools/measure_costs.py best_first   only these

The pages are those of the recorded webs in $TOPICRAWL_WEBS (default ../shared/webs): manuals, encyclopedia articles,
university sites. The cost is the CPU time of the whole crawl loop (fetch from the recording, parse, judge, score links)
in milliseconds per page: the mean over the webs of the best of two runs of 200 fetches. Training is not included. The
figures depend on the machine, but their ratios hardly do.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from time import process_time

from topicrawl import Recording, Task, Topic, simulate, strategies
from topicrawl.lab.tasks import find_targets, read_labels, read_tasks

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from harvest import WEBS  # noqa: E402

COSTS = ROOT / "src" / "topicrawl" / "strategies" / "costs.json"
FETCHES, RUNS, EXAMPLES = 200, 2, 20


@dataclass(frozen=True)
class MeasuredWeb:
    """A recorded web with the topic and the seeds of its first task."""

    recording: Recording
    topic: Topic
    seeds: tuple[str, ...]

    @classmethod
    def open(cls, directory: Path) -> MeasuredWeb:
        """Open a recorded web. The examples are pages with and without the labels of the task."""
        task = read_tasks(directory)[0]
        recording = Recording(directory)
        labels = read_labels(directory / "labels.tsv")
        targets = find_targets(labels, task)
        urls = [url for url in labels if recording.contains(url)]
        relevant = [url for url in urls if url in targets]
        irrelevant = [url for url in urls if url not in targets]
        topic = Topic.of(task.words).with_examples(_choose_examples(relevant), _choose_examples(irrelevant))
        return cls(recording, topic, task.seeds)

    async def measure_cost(self, strategy: str) -> float:
        """Return the CPU milliseconds per page, from the second page on. The first page includes the training."""
        pages, started = 0, 0.0
        async for _ in simulate(self.recording, Task(self.topic, self.seeds, strategy, FETCHES)):
            pages += 1
            if pages == 1:
                started = process_time()
        return 1000 * (process_time() - started) / max(1, pages - 1)


def _choose_examples(urls: list[str]) -> list[str]:
    return urls[:: max(1, len(urls) // EXAMPLES)][:EXAMPLES]


def main() -> None:
    """Measure the strategies named on the command line, or all, and write their costs."""
    directories = sorted(path.parent for path in WEBS.glob("*/tasks.json"))
    if not directories:
        sys.exit(f"{WEBS} contains no recorded webs with tasks: set TOPICRAWL_WEBS to a folder that does")
    webs = {directory.name: MeasuredWeb.open(directory) for directory in directories}
    costs = json.loads(COSTS.read_text("utf-8")) if COSTS.exists() else {}
    for name in sys.argv[1:] or strategies.list_strategies():
        by_web = {
            web: min(asyncio.run(measured.measure_cost(name)) for _ in range(RUNS)) for web, measured in webs.items()
        }
        costs[name] = round(fmean(by_web.values()), 1)
        details = ", ".join(f"{web} {cost:.1f}" for web, cost in by_web.items())
        print(f"{name}: {costs[name]} ms ({details})", flush=True)
    current = {name: costs[name] for name in strategies.list_strategies() if name in costs}
    COSTS.write_text(json.dumps(current, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
