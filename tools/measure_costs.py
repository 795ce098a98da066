"""Measure the CPU time per page of each strategy and write src/topicrawl/strategies/costs.json.

    python tools/measure_costs.py              all strategies
    python tools/measure_costs.py best_first   only these

The cost is the CPU time of the whole crawl loop (fetch from a recording, parse, judge, score links) in milliseconds per
page, as the best of three runs of 200 pages on the sample web. Training is not included. The figures depend on the
machine, but their ratios hardly do.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from time import process_time

from topicrawl import Recording, SampleWeb, Task, Topic, simulate, strategies

COSTS = Path(__file__).parent.parent / "src" / "topicrawl" / "strategies" / "costs.json"
TOPIC, FETCHES, RUNS = "dengue fever", 200, 3


async def measure_cost(recording: Recording, task: Task) -> float:
    """Return the CPU milliseconds per page, from the second page on. The first page includes the training."""
    pages, started = 0, 0.0
    async for _ in simulate(recording, task):
        pages += 1
        if pages == 1:
            started = process_time()
    return 1000 * (process_time() - started) / (pages - 1)


def main() -> None:
    """Measure the strategies named on the command line, or all, and write their costs."""
    costs = json.loads(COSTS.read_text("utf-8")) if COSTS.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        web = SampleWeb(pages=1200, hosts=40)
        web.write(Path(folder))
        labels = web.get_labels()
        relevant = [url for url, topics in labels.items() if TOPIC in topics]
        irrelevant = [url for url, topics in labels.items() if topics and TOPIC not in topics]
        topic = Topic.of("dengue fever mosquito").with_examples(relevant[::4][:20], irrelevant[::9][:20])
        recording = Recording(folder)
        for name in sys.argv[1:] or strategies.list_strategies():
            task = Task(topic, web.get_seeds(TOPIC), name, FETCHES)
            costs[name] = round(min(asyncio.run(measure_cost(recording, task)) for _ in range(RUNS)), 1)
            print(f"{name}: {costs[name]} ms")
    current = {name: costs[name] for name in strategies.list_strategies() if name in costs}
    COSTS.write_text(json.dumps(current, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
