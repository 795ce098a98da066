"""Measures strategies on the built-in web and raises their floors in tests/golden/floors.json; floors never sink.

    python tools/raise_floors.py              all strategies
    python tools/raise_floors.py best_first   only these

A floor is nine tenths of the targets that a strategy finds, so that a change that costs a page or two passes and a
change that breaks something does not.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from topicrawl import SampleWeb, Task, Topic, simulate, strategies
from topicrawl.lab.compare import Asked, Match, Table, matched
from topicrawl.lab.run import steps_of
from topicrawl.lab.tasks import read_aliases, read_labels, read_tasks
from topicrawl.lab.web import ParsedWeb

FLOORS = Path(__file__).parent.parent / "tests" / "golden" / "floors.json"
PAGES, HOSTS, FETCHES, EXAMPLES = 1200, 40, 200, 20
TASKS = (0, 4)  # a topic with near neighbours and one without
SHARE = 0.9


@dataclass(frozen=True)
class Field:
    """The built-in web with what is to be found in it."""

    web: ParsedWeb
    matches: list[Match]

    @classmethod
    def made(cls, folder: Path) -> Field:
        SampleWeb(pages=PAGES, hosts=HOSTS).write(folder / "web")
        web = ParsedWeb(folder / "web", cache=folder / "cache")
        table = Table(read_labels(web.path), read_aliases(web.path), web.graph())
        tasks = read_tasks(web.path)
        asked = Asked([web.path], [], FETCHES, EXAMPLES)
        return cls(web, [matched(n + 1, web.path, tasks[n], table, asked) for n in TASKS])

    def harvest(self, name: str) -> int:
        """The targets that a strategy finds on all tasks together."""
        learns = "examples" in strategies.available()[name].inputs
        return sum(asyncio.run(self._found(match, name, learns=learns)) for match in self.matches)

    async def _found(self, match: Match, name: str, *, learns: bool) -> int:
        topic = Topic.of(match.task.words)
        if learns:
            topic = topic.with_examples(match.relevant, match.irrelevant)
        task = Task(topic, match.task.seeds, name, FETCHES)
        return len(steps_of([visit.url async for visit in simulate(self.web, task)], match.targets))


def floors() -> dict[str, int]:
    """The floor of each strategy that has one."""
    known: dict[str, int] = json.loads(FLOORS.read_text("utf-8")) if FLOORS.exists() else {}
    return known


def main() -> None:
    known = floors()
    names = sys.argv[1:] or list(strategies.available())
    with tempfile.TemporaryDirectory() as folder:
        field = Field.made(Path(folder))
        for name in names:
            found = field.harvest(name)
            floor = max(known.get(name, 0), int(found * SHARE))
            print(f"{name:24} found {found:4}, floor {known.get(name, 'none'):>4} → {floor}")
            known[name] = floor
        field.web.close()
    FLOORS.parent.mkdir(parents=True, exist_ok=True)
    FLOORS.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
