"""What engines found for a topic, as a value and as files.

found.json   all of it: answers with their troubles, seeds with votes, ranks and snippets
found.txt    one seed a line, with what is known of it in comments
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from topicrawl.errors import SeedError
from topicrawl.seeds.provider import Answer, Hit, plain
from topicrawl.seeds.voting import Group, Seed, voters
from topicrawl.urls import canonical

TAKEN = (Group.MOST_RELEVANT, Group.RELEVANT)


@dataclass(frozen=True)
class Found:
    """The election: who was asked what, and what came of it."""

    query: str
    seeds: tuple[Seed, ...]  # every page that was found, the best first; the irrelevant ones last
    answers: tuple[tuple[str, Answer], ...] = ()  # (query, answer)
    votes: int = 2  # that a seed needed

    @property
    def taken(self) -> list[Seed]:
        """The pages to start from."""
        return [seed for seed in self.seeds if seed.group in TAKEN]

    @property
    def irrelevant(self) -> list[Seed]:
        return [seed for seed in self.seeds if seed.group == Group.IRRELEVANT]

    @property
    def voters(self) -> list[str]:
        return voters(answer for query, answer in self.answers if query == self.query)

    @property
    def troubles(self) -> dict[str, str]:
        """Engine → why it has no vote."""
        return {
            answer.engine: answer.trouble for query, answer in self.answers if answer.trouble and query == self.query
        }

    @property
    def silences(self) -> dict[str, str]:
        """Engine → why it said nothing to the negative query; its vote on the seeds stands."""
        return {
            answer.engine: answer.trouble for query, answer in self.answers if answer.trouble and query != self.query
        }

    @property
    def descriptions(self) -> dict[str, str]:
        """URL → what engines say of it: their snippets, the titles where there are none."""
        told: dict[str, dict[str, None]] = {}
        for _, answer in self.answers:
            for hit in answer.hits:
                if text := hit.snippet or hit.title:
                    told.setdefault(hit.url, {})[text] = None
        return {url: " ".join(texts) for url, texts in told.items()}

    def table(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "query": self.query,
            "votes": self.votes,
            "voters": self.voters,
            "seeds": [{**asdict(seed), "votes": seed.votes} for seed in self.seeds],
            "answers": [{"query": query, **asdict(answer)} for query, answer in self.answers],
        }

    def text(self) -> str:
        """As the text of a file of seeds."""
        lines = [f"# {self.query}: {len(self.taken)} seeds by {', '.join(self.voters) or 'nobody'}"]
        lines += [f"# {engine} had no vote: {trouble}" for engine, trouble in self.troubles.items()]
        for seed in self.taken:
            lines += [f"# {summary(seed)}", seed.url]
        return "\n".join(lines) + "\n"

    def examples(self) -> str:
        """As lines of url⇥label, for strategies that learn from examples."""
        labels = [(self.taken, "relevant"), (self.irrelevant, "irrelevant")]
        return "".join(f"{seed.url}\t{label}\n" for seeds, label in labels for seed in seeds)


def summary(seed: Seed) -> str:
    """What is known of a seed, in one line.

    >>> summary(Seed("http://a.example/", Group.RELEVANT, {"x": 1, "y": 4}, "A"))
    'relevant, 2 votes: x 1, y 4; A'
    """
    ranks = ", ".join(f"{engine} {rank}" for engine, rank in seed.ranks.items())
    plural = "" if seed.votes == 1 else "s"
    importance = f"; importance {seed.importance:.3f}" if seed.importance else ""
    return f"{seed.group}, {seed.votes} vote{plural}: {ranks}{importance}" + (f"; {seed.title}" if seed.title else "")


def read_found(text: str, where: str) -> Found:
    """What `table` wrote; addresses and texts are checked as if an engine had just sent them."""
    try:
        table = json.loads(text)
        answers = tuple((str(row["query"]), _answer(row)) for row in table["answers"])
        return Found(str(table["query"]), tuple(_seeds(table["seeds"])), answers, int(table["votes"]))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise SeedError(f"{where}: not a file of `topicrawl seeds --out FILE.json`: {error!r}"[:300]) from error


def _seeds(rows: Sequence[Mapping[str, Any]]) -> Iterable[Seed]:
    for row in rows:
        if (url := canonical(str(row["url"]))) is not None:
            ranks = {str(engine): int(rank) for engine, rank in row["ranks"].items()}
            told = plain(row["title"]), plain(row["snippet"])
            yield Seed(url, Group(row["group"]), ranks, *told, float(row["importance"]))


def _answer(row: Mapping[str, Any]) -> Answer:
    found = [(canonical(str(hit["url"])), hit) for hit in row["hits"]]
    hits = [Hit(url, int(hit["rank"]), plain(hit["title"]), plain(hit["snippet"])) for url, hit in found if url]
    return Answer(str(row["engine"]), tuple(hits), plain(row["trouble"]))
