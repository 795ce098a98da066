"""Measures what a page costs with each strategy and writes src/topicrawl/strategies/costs.json.

    python tools/measure_costs.py              all strategies
    python tools/measure_costs.py best_first   only these

CPU time of the whole loop (fetch from a recording, parse, judge, place), the best of three runs of 200 pages on the
made-up web, in milliseconds a page. Training is not counted. Figures depend on the machine; their ratios hardly do.
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


async def cost(recording: Recording, task: Task) -> float:
    """Milliseconds a page, from the second page on: the first one waits for the training."""
    pages, begun = 0, 0.0
    async for _ in simulate(recording, task):
        pages += 1
        if pages == 1:
            begun = process_time()
    return 1000 * (process_time() - begun) / (pages - 1)


def main() -> None:
    costs = json.loads(COSTS.read_text("utf-8")) if COSTS.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        web = SampleWeb(pages=1200, hosts=40)
        web.write(Path(folder))
        labels = web.labels()
        relevant = [url for url, topics in labels.items() if TOPIC in topics]
        irrelevant = [url for url, topics in labels.items() if topics and TOPIC not in topics]
        topic = Topic.of("dengue fever mosquito").with_examples(relevant[::4][:20], irrelevant[::9][:20])
        recording = Recording(folder)
        for name in sys.argv[1:] or strategies.available():
            task = Task(topic, web.seeds(TOPIC), name, FETCHES)
            costs[name] = round(min(asyncio.run(cost(recording, task)) for _ in range(RUNS)), 1)
            print(f"{name}: {costs[name]} ms")
    known = {name: costs[name] for name in strategies.available() if name in costs}
    COSTS.write_text(json.dumps(known, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
