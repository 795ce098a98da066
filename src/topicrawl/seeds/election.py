"""Result of the seed election by search engines, as a record and as files.

found.json   complete: answers with their failures, seeds with votes, ranks and snippets
found.txt    one seed per line, with votes and ranks in comments
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from topicrawl.errors import SeedError
from topicrawl.seeds.provider import EngineAnswer, EngineHit, clean_text
from topicrawl.seeds.voting import Seed, SeedGroup, get_voting_engines
from topicrawl.urls import canonicalize_url

SEED_GROUPS = (SeedGroup.MOST_RELEVANT, SeedGroup.RELEVANT)


@dataclass(frozen=True)
class ElectionResult:
    """Queries, answers and elected seeds."""

    query: str
    seeds: tuple[Seed, ...]  # all pages found, the best first; irrelevant pages last
    answers: tuple[tuple[str, EngineAnswer], ...] = ()  # (query, answer)
    votes: int = 2  # votes that a seed needs

    @property
    def selected_seeds(self) -> list[Seed]:
        """Pages from which the crawl starts."""
        return [seed for seed in self.seeds if seed.group in SEED_GROUPS]

    @property
    def irrelevant_seeds(self) -> list[Seed]:
        """Pages that engines returned for the negative query only."""
        return [seed for seed in self.seeds if seed.group == SeedGroup.IRRELEVANT]

    @property
    def voting_engines(self) -> list[str]:
        """Engines that answered the query."""
        return get_voting_engines(answer for query, answer in self.answers if query == self.query)

    @property
    def failures(self) -> dict[str, str]:
        """Engine → reason why it has no vote."""
        return {
            answer.engine: answer.trouble for query, answer in self.answers if answer.trouble and query == self.query
        }

    @property
    def negative_failures(self) -> dict[str, str]:
        """Engine → reason why it did not answer the negative query. Its vote on the seeds counts."""
        return {
            answer.engine: answer.trouble for query, answer in self.answers if answer.trouble and query != self.query
        }

    @property
    def descriptions(self) -> dict[str, str]:
        """URL → its snippets in the results, or its titles where there is no snippet."""
        descriptions: dict[str, dict[str, None]] = {}
        for _, answer in self.answers:
            for hit in answer.hits:
                if text := hit.snippet or hit.title:
                    descriptions.setdefault(hit.url, {})[text] = None
        return {url: " ".join(texts) for url, texts in descriptions.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            "query": self.query,
            "votes": self.votes,
            "voters": self.voting_engines,
            "seeds": [{**asdict(seed), "votes": seed.votes} for seed in self.seeds],
            "answers": [{"query": query, **asdict(answer)} for query, answer in self.answers],
        }

    def to_seed_lines(self) -> str:
        """Return the result as the text of a seed file."""
        lines = [f"# {self.query}: {len(self.selected_seeds)} seeds by {', '.join(self.voting_engines) or 'no engine'}"]
        lines += [f"# {engine} had no vote: {trouble}" for engine, trouble in self.failures.items()]
        for seed in self.selected_seeds:
            lines += [f"# {format_seed(seed)}", seed.url]
        return "\n".join(lines) + "\n"

    def to_example_lines(self) -> str:
        """Return the seeds as lines of url⇥label, for strategies that learn from examples."""
        labels = [(self.selected_seeds, "relevant"), (self.irrelevant_seeds, "irrelevant")]
        return "".join(f"{seed.url}\t{label}\n" for seeds, label in labels for seed in seeds)


def format_seed(seed: Seed) -> str:
    """Return the votes, ranks and title of a seed in one line.

    >>> format_seed(Seed("http://a.example/", SeedGroup.RELEVANT, {"x": 1, "y": 4}, "A"))
    'relevant, 2 votes: x 1, y 4; A'
    """
    ranks = ", ".join(f"{engine} {rank}" for engine, rank in seed.ranks.items())
    plural = "" if seed.votes == 1 else "s"
    importance = f"; importance {seed.importance:.3f}" if seed.importance else ""
    return f"{seed.group}, {seed.votes} vote{plural}: {ranks}{importance}" + (f"; {seed.title}" if seed.title else "")


def parse_election_result(text: str, where: str) -> ElectionResult:
    """Parse the JSON file of an election. URLs and texts are checked like those of a new answer."""
    try:
        table = json.loads(text)
        answers = tuple((str(row["query"]), _parse_answer(row)) for row in table["answers"])
        return ElectionResult(str(table["query"]), tuple(_parse_seeds(table["seeds"])), answers, int(table["votes"]))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise SeedError(f"{where}: not a file of `topicrawl seeds --out FILE.json`: {error!r}"[:300]) from error


def _parse_seeds(rows: Sequence[Mapping[str, Any]]) -> Iterable[Seed]:
    """Parse the seeds. Rows without a valid URL are skipped."""
    for row in rows:
        if (url := canonicalize_url(str(row["url"]))) is not None:
            ranks = {str(engine): int(rank) for engine, rank in row["ranks"].items()}
            texts = clean_text(row["title"]), clean_text(row["snippet"])
            yield Seed(url, SeedGroup(row["group"]), ranks, *texts, float(row["importance"]))


def _parse_answer(row: Mapping[str, Any]) -> EngineAnswer:
    """Parse an answer. Hits without a valid URL are skipped."""
    rows = [(canonicalize_url(str(hit["url"])), hit) for hit in row["hits"]]
    hits = [
        EngineHit(url, int(hit["rank"]), clean_text(hit["title"]), clean_text(hit["snippet"]))
        for url, hit in rows
        if url
    ]
    return EngineAnswer(str(row["engine"]), tuple(hits), clean_text(row["trouble"]))
