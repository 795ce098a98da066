"""Records in which order each strategy fetches the pages of a small made-up web: tests/golden/orders.json.

    python tools/record_orders.py              all strategies
    python tools/record_orders.py best_first   only these

An order changes when a strategy does: look at the difference before you keep it.
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
class Field:
    """A small web, recorded, with examples of both kinds."""

    recording: Recording
    topic: Topic
    seeds: tuple[str, ...]

    @classmethod
    def made(cls, folder: Path) -> Field:
        web = SampleWeb(pages=400, hosts=20)
        web.write(folder)
        labels = web.labels()
        relevant = [url for url, topics in labels.items() if TOPIC in topics]
        irrelevant = [url for url, topics in labels.items() if topics and TOPIC not in topics]
        topic = Topic.of("dengue fever mosquito").with_examples(relevant[::4][:10], irrelevant[::9][:10])
        return cls(Recording(folder), topic, tuple(web.seeds(TOPIC)))

    def order(self, strategy: str) -> list[str]:
        """The addresses that a strategy asks for, in turn."""
        task = Task(self.topic, self.seeds, strategy, FETCHES)

        async def visited() -> list[str]:
            return [visit.link.url.removeprefix("http://") async for visit in simulate(self.recording, task)]

        return asyncio.run(visited())


def main() -> None:
    names = sys.argv[1:] or list(strategies.available())
    orders = json.loads(ORDERS.read_text("utf-8")) if ORDERS.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        field = Field.made(Path(folder))
        for name in names:
            order = field.order(name)
            print(f"{name}: {'the same' if orders.get(name) == order else 'recorded'}")
            orders[name] = order
    known = {name: orders[name] for name in strategies.available() if name in orders}
    ORDERS.parent.mkdir(parents=True, exist_ok=True)
    ORDERS.write_text(json.dumps(known, indent=0, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
