"""Record the order in which each strategy fetches the pages of a small sample web, in tests/golden/orders.json.

    python tools/record_orders.py              all strategies
    python tools/record_orders.py best_first   only these

An order changes if the strategy changes. Review the difference before you commit it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from topicrawl import Recording, SampleWeb, Task, Topic, simulate, strategies

ORDERS = Path(__file__).parent.parent / "tests" / "golden" / "orders.json"
TOPIC, FETCHES = "dengue fever", 40


@dataclass(frozen=True)
class OrderBenchmark:
    """A small recorded web with relevant and irrelevant examples."""

    recording: Recording
    topic: Topic
    seeds: tuple[str, ...]

    @classmethod
    def build(cls, folder: Path) -> OrderBenchmark:
        """Write the sample web to a folder and choose the examples."""
        web = SampleWeb(pages=400, hosts=20)
        web.write(folder)
        labels = web.get_labels()
        relevant = [url for url, topics in labels.items() if TOPIC in topics]
        irrelevant = [url for url, topics in labels.items() if topics and TOPIC not in topics]
        topic = Topic.of("dengue fever mosquito").with_examples(relevant[::4][:10], irrelevant[::9][:10])
        return cls(Recording(folder), topic, tuple(web.get_seeds(TOPIC)))

    def fetch_order(self, strategy: str) -> list[str]:
        """Return the URLs that a strategy fetches, in order."""
        task = Task(self.topic, self.seeds, strategy, FETCHES)

        async def collect_urls() -> list[str]:
            return [visit.link.url.removeprefix("http://") async for visit in simulate(self.recording, task)]

        return asyncio.run(collect_urls())


def main() -> None:
    """Record the orders of the strategies named on the command line, or of all."""
    names = sys.argv[1:] or list(strategies.list_strategies())
    orders = json.loads(ORDERS.read_text("utf-8")) if ORDERS.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        benchmark = OrderBenchmark.build(Path(folder))
        for name in names:
            order = benchmark.fetch_order(name)
            print(f"{name}: {'unchanged' if orders.get(name) == order else 'recorded'}")
            orders[name] = order
    current = {name: orders[name] for name in strategies.list_strategies() if name in orders}
    ORDERS.parent.mkdir(parents=True, exist_ok=True)
    ORDERS.write_text(json.dumps(current, indent=0, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
