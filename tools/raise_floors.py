"""Measure strategies on the sample web and raise their floors in tests/golden/floors.json. Floors are never lowered.

    python tools/raise_floors.py              all strategies
    python tools/raise_floors.py best_first   only these

A floor is 90 % of the targets that a strategy finds, so that small changes pass the test and regressions do not.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from topicrawl import SampleWeb, Task, Topic, simulate, strategies
from topicrawl.lab.compare import ComparisonConfig, ComparisonTask, WebMetadata, build_comparison_task
from topicrawl.lab.parsed_web import ParsedWeb
from topicrawl.lab.run import find_target_steps
from topicrawl.lab.tasks import read_labels, read_tasks

FLOORS = Path(__file__).parent.parent / "tests" / "golden" / "floors.json"
PAGES, HOSTS, FETCHES, EXAMPLES = 1200, 40, 200, 20
TASKS = (0, 4)  # a topic with related topics and one without
SHARE = 0.9


@dataclass(frozen=True)
class FloorBenchmark:
    """A sample web with the tasks that measure the harvest of a strategy."""

    web: ParsedWeb
    tasks: list[ComparisonTask]

    @classmethod
    def build(cls, folder: Path) -> FloorBenchmark:
        """Write the sample web to a folder and select the tasks."""
        SampleWeb(pages=PAGES, hosts=HOSTS).write(folder / "web")
        web = ParsedWeb(folder / "web", cache=folder / "cache")
        metadata = WebMetadata(read_labels(web.path), web.find_redirects(), web.build_graph())
        tasks = read_tasks(web.path)
        config = ComparisonConfig([web.path], [], FETCHES, EXAMPLES)
        return cls(web, [build_comparison_task(n + 1, web.path, tasks[n], metadata, config) for n in TASKS])

    def harvest(self, name: str) -> int:
        """Return the number of targets that a strategy finds on all tasks."""
        learns = "examples" in strategies.list_strategies()[name].required_inputs
        return sum(asyncio.run(self._count_targets(task, name, learns=learns)) for task in self.tasks)

    async def _count_targets(self, task: ComparisonTask, name: str, *, learns: bool) -> int:
        topic = Topic.of(task.task.words)
        if learns:
            topic = topic.with_examples(task.relevant, task.irrelevant)
        simulation = Task(topic, task.task.seeds, name, FETCHES)
        return len(find_target_steps([visit.url async for visit in simulate(self.web, simulation)], task.targets))


def read_floors() -> dict[str, int]:
    """Return the recorded floors by strategy."""
    floors: dict[str, int] = json.loads(FLOORS.read_text("utf-8")) if FLOORS.exists() else {}
    return floors


def main() -> None:
    """Measure the strategies named on the command line, or all, and write their floors."""
    floors = read_floors()
    names = sys.argv[1:] or list(strategies.list_strategies())
    with tempfile.TemporaryDirectory() as folder:
        benchmark = FloorBenchmark.build(Path(folder))
        for name in names:
            harvest = benchmark.harvest(name)
            floor = max(floors.get(name, 0), int(harvest * SHARE))
            print(f"{name:24} found {harvest:4}, floor {floors.get(name, 'none'):>4} → {floor}")
            floors[name] = floor
        benchmark.web.close()
    FLOORS.parent.mkdir(parents=True, exist_ok=True)
    FLOORS.write_text(json.dumps(dict(sorted(floors.items())), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
