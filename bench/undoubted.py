"""Measure the precision of the undoubtedly relevant pages of Kluev's metrics on held-out pages of the recorded webs.

    python bench/undoubted.py [--web NAME …] [--negatives 2000]

The webs are in $TOPICRAWL_WEBS (default ../shared/webs). For each topic, the filter and its thresholds are chosen from
a core of up to 100 relevant pages, at most a quarter of those of the topic, and 100 irrelevant pages. All other
relevant pages and a random sample of the other irrelevant ones are judged, and the errors are scaled to the whole web.
The rule with higher thresholds (`undoubted_…`) is compared with the same rule without them. The directory heuristic and
the variable part of the filter are not part of it; `topicrawl lab repeat kluev` measures both in crawls.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from random import Random

from topicrawl.lab.compare import Comparison, ComparisonConfig, ComparisonTask, resolve_strategies
from topicrawl.lab.parsed_web import ParsedWeb
from topicrawl.lab.repeat.paper_runs import select_tasks
from topicrawl.lab.tasks import find_targets, read_labels
from topicrawl.models import Page
from topicrawl.relevance.filter_choice import fit_filter
from topicrawl.relevance.filter_model import FilterModel
from topicrawl.relevance.multi_metric import MultiMetricJudge
from topicrawl.topic import Thresholds, Topic

WEBS = Path(os.environ.get("TOPICRAWL_WEBS", Path(__file__).parent.parent.parent / "shared" / "webs"))
CORE_PAGES = 100


@dataclass(frozen=True)
class RuleCounts:
    """Undoubted pages of one rule: the relevant ones, the others (scaled to the web), and all relevant pages."""

    correct: int
    wrong: float
    relevant: int

    def __add__(self, other: RuleCounts) -> RuleCounts:
        return RuleCounts(self.correct + other.correct, self.wrong + other.wrong, self.relevant + other.relevant)

    def __str__(self) -> str:
        found = self.correct + self.wrong
        precision = f"{self.correct / found:.2f}" if found else "-"
        return f"{precision} / {self.correct / self.relevant:.2f}"


@dataclass(frozen=True)
class TopicPages:
    """Held-out pages of a topic. `scale` is the number of irrelevant pages of the web for each one in the sample."""

    relevant: Sequence[Page]
    irrelevant: Sequence[Page]
    scale: float

    def count(self, judge: MultiMetricJudge) -> RuleCounts:
        """Count the pages that a judge finds undoubtedly relevant."""
        correct, wrong = (
            sum(judge.judge_page(page).is_undoubted for page in pages) for pages in (self.relevant, self.irrelevant)
        )
        return RuleCounts(correct, wrong * self.scale, len(self.relevant))


def measure_topic(task: ComparisonTask, web: ParsedWeb, relevant: frozenset[str], negatives: int) -> list[RuleCounts]:
    """Return the counts without and with the higher thresholds."""
    load: Callable[[Sequence[str]], list[Page]] = lambda urls: [  # noqa: E731
        page for url in urls if (page := web.get_page(url, context=False)) is not None
    ]
    topic = Topic.of(task.task.words)
    filter, thresholds = fit_filter(topic, load(task.relevant), load(task.irrelevant))
    known = {*task.relevant, *task.irrelevant, *task.task.seeds}
    others = sorted(url for url in web.recording if url not in relevant and url not in known)
    sample = Random(task.name).sample(others, min(negatives, len(others)))
    irrelevant = load(sample)
    pages = TopicPages(load(sorted(relevant - known)), irrelevant, len(others) / max(1, len(sample)))
    model = FilterModel.of(filter, topic.lexicon, topic.tokens)
    plain = {item.name: None for item in fields(Thresholds) if item.name.startswith("undoubted_")}
    judges = (MultiMetricJudge(model, values) for values in (replace(thresholds, **plain), thresholds))
    return [pages.count(judge) for judge in judges]


def main() -> None:
    """Print a Markdown table: precision / recall of the undoubted pages for each topic, web and in all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--web", action="append", help="a web in $TOPICRAWL_WEBS; may be repeated")
    parser.add_argument("--negatives", type=int, default=2000, help="irrelevant pages to judge for each topic")
    options = parser.parse_args()
    print("| topic | two votes | two votes with higher thresholds |\n|---|---|---|")
    pooled: dict[str, list[RuleCounts]] = {}
    for path in [WEBS / name for name in options.web] if options.web else sorted(WEBS.glob("*/")):
        config = ComparisonConfig([path], ["multi_metric+examples"], examples=CORE_PAGES)
        comparison = Comparison(config, resolve_strategies(config.strategies))
        comparison.load_tasks()
        labels, web = read_labels(path), ParsedWeb(path)
        for task in select_tasks(comparison.tasks, len(comparison.tasks), prefers_far_seeds=False):
            relevant = find_targets(labels, replace(task.task, seeds=(), within=""))
            counts = measure_topic(task, web, relevant, options.negatives)
            print(f"| {task.task.web}: {task.task.topic} | {counts[0]} | {counts[1]} |", flush=True)
            for name in (path.name, "all webs"):
                old = pooled.get(name, [RuleCounts(0, 0.0, 0)] * 2)
                pooled[name] = [one + other for one, other in zip(old, counts, strict=True)]
        web.close()
    for name in sorted(pooled, key=lambda name: name == "all webs"):
        print(f"| **{name}** | {pooled[name][0]} | {pooled[name][1]} |")


if __name__ == "__main__":
    main()
