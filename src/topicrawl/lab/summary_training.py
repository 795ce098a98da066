"""From labelled sentences to a network, measured on pages that it has not seen: Mohammadi, sections 6 and 8.

Pages, not sentences, are held out: sentences of one page resemble each other, and a network that knows some of them
is better at the others than it will be on a page of the crawl. Each page is held out once, by one of five networks;
the network that is kept has seen all pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from topicrawl.errors import UsageError
from topicrawl.lab.summary_labels import Row
from topicrawl.learn.network import Network
from topicrawl.relevance.summary import CHOSEN
from topicrawl.relevance.summary_network import HIDDEN

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Count:
    """How verdicts and labels meet: yes that were chosen, no that were chosen, yes that were not, no that were not.

    Six of ten right; four of ten are yes, so that always saying no would be right in six as well:

    >>> count = Count(2, 2, 2, 4)
    >>> count.accuracy, count.majority, count.precision, count.recall
    (0.6, 0.6, 0.5, 0.5)
    """

    chosen_yes: int = 0
    chosen_no: int = 0
    left_yes: int = 0
    left_no: int = 0

    @property
    def sentences(self) -> int:
        return self.chosen_yes + self.chosen_no + self.left_yes + self.left_no

    @property
    def yes(self) -> int:
        return self.chosen_yes + self.left_yes

    @property
    def accuracy(self) -> float:
        return _share(self.chosen_yes + self.left_no, self.sentences)

    @property
    def majority(self) -> float:
        """The accuracy of whoever gives every sentence the more frequent label."""
        return _share(max(self.yes, self.sentences - self.yes), self.sentences)

    @property
    def precision(self) -> float:
        return _share(self.chosen_yes, self.chosen_yes + self.chosen_no)

    @property
    def recall(self) -> float:
        return _share(self.chosen_yes, self.yes)

    def __add__(self, other: Count) -> Count:
        return Count(
            self.chosen_yes + other.chosen_yes, self.chosen_no + other.chosen_no,
            self.left_yes + other.left_yes, self.left_no + other.left_no,
        )  # fmt: skip


def trained(rows: Iterable[Row], *, seed: int = 1, where: str = "the table") -> tuple[Network, Count]:
    """The network of all labelled rows, and how such networks do on pages that they have not seen."""
    labelled = [row for row in rows if row.label is not None]
    pages = sorted({row.page for row in labelled})
    yes = sum(row.label is True for row in labelled)
    if not labelled:
        raise UsageError(f"{where}: no sentence is labelled: write yes or no into its first column")
    if not yes or yes == len(labelled):
        said = "yes" if yes else "no"
        raise UsageError(f"{where}: all {len(labelled)} labels are {said}: a network needs sentences of both kinds")
    if len(pages) < 2:
        raise UsageError(f"{where}: all labels are on one page: label a second one, to measure on")
    Random(seed).shuffle(pages)
    held_out = [frozenset(pages[fold::FOLDS]) for fold in range(min(FOLDS, len(pages)))]
    count = Count()
    for fold in held_out:
        network = fitted([row for row in labelled if row.page not in fold], seed=seed)
        count += measured(network, [row for row in labelled if row.page in fold])
    return fitted(labelled, seed=seed), count


def fitted(rows: Sequence[Row], *, seed: int = 1) -> Network:
    """A network of six inputs, five hidden units and one output that gives labelled rows their labels."""
    return Network.fit(
        [row.features for row in rows], [float(bool(row.label)) for row in rows], hidden=HIDDEN, seed=seed
    )


def measured(network: Network, rows: Iterable[Row]) -> Count:
    """How a network does on labelled rows."""
    count = Count()
    for row in rows:
        chosen = network.predict(row.features) >= CHOSEN
        if row.label:
            count += Count(chosen_yes=chosen, left_yes=not chosen)
        else:
            count += Count(chosen_no=chosen, left_no=not chosen)
    return count


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
