"""Log of the calls to the language-model reviewer: verdicts, tokens and cost, in the database of the collection.

Every call is recorded before its request is sent, so the limit of calls holds after a kill too. A verdict and the
annotation that it creates are stored in one transaction.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import NamedTuple

from topicrawl.collection.annotations import (
    REVIEWER_ORIGIN,
    AnnotationLabel,
    has_annotations,
    insert_annotations,
)
from topicrawl.collection.store import CollectionStore, replace_surrogates
from topicrawl.models import JsonValue
from topicrawl.urls import fingerprint

#: Values of the column `outcome`, besides the labels of annotations and the failures of a request.
CALL_SENT = "sent"  # no reply yet, or the process was stopped before the reply arrived
NO_VERDICT = "no_verdict"  # the reply contains no valid verdict
_TROUBLE_FACT = "reviewer"
_VERDICT_OUTCOMES = "('relevant', 'irrelevant', 'unsure')"
_REPLY_OUTCOMES = f"('relevant', 'irrelevant', 'unsure', '{NO_VERDICT}')"
_INSERT_CALL = (
    "INSERT INTO reviewer_calls (page, url, model, outcome, confidence, reason, tokens_in, tokens_out, cost, seconds,"
    f" at) VALUES (?, ?, ?, '{CALL_SENT}', NULL, '', 0, 0, 0, 0, ?)"
)
_UPDATE_CALL = (
    "UPDATE reviewer_calls SET outcome=?, confidence=?, reason=?, tokens_in=?, tokens_out=?, cost=?, seconds=?"
    " WHERE number=?"
)
_SELECT_USAGE = f"""
    SELECT count(*), count(*) FILTER (WHERE outcome IN {_VERDICT_OUTCOMES}),
    count(*) FILTER (WHERE outcome = 'relevant'), count(*) FILTER (WHERE outcome = 'irrelevant'),
    count(*) FILTER (WHERE outcome = 'unsure'),
    coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0), coalesce(sum(cost), 0.0) FROM reviewer_calls
"""


class CallPrices(NamedTuple):
    """Prices of a million tokens, in any currency."""

    tokens_in: float = 0.0
    tokens_out: float = 0.0

    def compute_cost(self, tokens_in: int, tokens_out: int) -> float:
        """Return the cost of a call.

        >>> CallPrices(0.5, 2.0).compute_cost(1_000_000, 500_000)
        1.5
        """
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


class CallResult(NamedTuple):
    """Result of one call."""

    outcome: str  # label of the verdict, `NO_VERDICT`, or the failure of the request
    confidence: float | None = None
    reason: str = ""  # reason of the verdict, or description of the failure
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0


class ReviewerVerdict(NamedTuple):
    """Verdict of the reviewer on a page."""

    label: AnnotationLabel
    confidence: float
    reason: str
    model: str
    at: float


class ReviewerUsage(NamedTuple):
    """Calls, verdicts, tokens and cost of the reviewer in all runs of a crawl."""

    calls: int = 0
    verdicts: int = 0
    relevant: int = 0
    irrelevant: int = 0
    unsure: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0


@dataclass(frozen=True)
class ReviewerReport:
    """Usage and state of the reviewer, for displays and JSON."""

    calls: int
    limit: int  # maximum number of calls
    verdicts: int
    relevant: int
    irrelevant: int
    unsure: int
    tokens_in: int
    tokens_out: int
    cost: float
    trouble: str = ""  # why the reviewer stopped before its limit; "": it did not

    @property
    def summary(self) -> str:
        """Report in one line.

        >>> ReviewerReport(12, 100, 10, 6, 3, 1, 8100, 420, 0.0126).summary
        '12 of 100 calls, 10 verdicts (6 relevant, 3 irrelevant, 1 unsure), 8,100 tokens in, 420 out, cost 0.0126'
        """
        kinds = f"{self.relevant} relevant, {self.irrelevant} irrelevant, {self.unsure} unsure"
        cost = f", cost {self.cost:.4f}" if self.cost else ""
        return (
            f"{self.calls} of {self.limit} calls, {self.verdicts} verdicts ({kinds}), "
            f"{self.tokens_in:,} tokens in, {self.tokens_out:,} out{cost}"
        )

    def to_json(self) -> dict[str, JsonValue]:
        """Return the report as JSON values."""
        return asdict(self)


class ReviewerLog:
    """Calls of the reviewer of a crawl, with their limit and prices."""

    def __init__(self, store: CollectionStore, *, limit: int, prices: CallPrices) -> None:
        self.limit = limit
        self._store, self._prices = store, prices
        self._usage = load_usage(store)
        self._trouble = ""

    @property
    def calls_left(self) -> int:
        """Number of calls within the limit."""
        return max(0, self.limit - self._usage.calls)

    @property
    def report(self) -> ReviewerReport:
        """Usage of all runs, and the trouble of this run."""
        return ReviewerReport(limit=self.limit, trouble=self._trouble, **self._usage._asdict())

    def set_trouble(self, trouble: str) -> None:
        """Store why the reviewer has stopped. An empty text says that it works."""
        self._trouble = trouble
        self._store.set_facts({_TROUBLE_FACT: {"trouble": trouble}})

    def is_reviewed(self, url: str) -> bool:
        """Return whether the model has replied about a page, with or without a verdict."""
        sql = f"SELECT 1 FROM reviewer_calls WHERE page=? AND outcome IN {_REPLY_OUTCOMES} LIMIT 1"
        return bool(self._store.query_rows(sql, (fingerprint(url),)))

    def begin_call(self, url: str, model: str, *, at: float) -> int:
        """Record a call that is about to be sent. Return its number."""
        with self._store.db.transaction():
            number = self._store.db.execute(_INSERT_CALL, (fingerprint(url), url, model, at)).lastrowid
        self._usage = self._usage._replace(calls=self._usage.calls + 1)
        return int(number or 0)

    def finish_call(self, number: int, url: str, result: CallResult, *, at: float) -> bool:
        """Record the result of a call, and annotate the page if the result is a verdict.

        Return whether the page was annotated. It is not if a user has annotated it in the meantime.
        """
        cost = self._prices.compute_cost(result.tokens_in, result.tokens_out)
        reason, tokens = replace_surrogates(result.reason), (result.tokens_in, result.tokens_out)
        values = (result.outcome, result.confidence, reason, *tokens, cost, result.seconds, number)
        is_annotated = False
        with self._store.db.durable_transaction():
            self._store.db.execute(_UPDATE_CALL, values)
            if result.outcome in list(AnnotationLabel) and not has_annotations(self._store, url):
                insert_annotations(self._store, [url], AnnotationLabel(result.outcome), origin=REVIEWER_ORIGIN, at=at)
                is_annotated = True
        self._usage = load_usage(self._store)
        return is_annotated


def load_usage(store: CollectionStore) -> ReviewerUsage:
    """Return the calls, verdicts, tokens and cost of all runs."""
    return store.query_typed_rows(ReviewerUsage, _SELECT_USAGE)[0]


def load_report(store: CollectionStore) -> ReviewerReport | None:
    """Return the report of the reviewer of a crawl; None if the crawl has none and had none."""
    usage, settings, stored = load_usage(store), store.get_fact("settings"), store.get_fact(_TROUBLE_FACT)
    values = settings if isinstance(settings, dict) else {}
    if not usage.calls and not values.get("reviewer"):
        return None
    limit, trouble = values.get("reviewer_calls"), stored.get("trouble") if isinstance(stored, dict) else ""
    return ReviewerReport(limit=limit if isinstance(limit, int) else 0, trouble=str(trouble or ""), **usage._asdict())


def find_verdict(store: CollectionStore, url: str) -> ReviewerVerdict | None:
    """Return the verdict of the reviewer on the page at a final URL, or None. A user may have overruled it."""
    sql = "SELECT outcome, confidence, reason, model, at FROM reviewer_calls"
    where = f"WHERE page=? AND outcome IN {_VERDICT_OUTCOMES} ORDER BY number DESC LIMIT 1"
    rows = store.query_typed_rows(ReviewerVerdict, f"{sql} {where}", (fingerprint(url),))
    return rows[0] if rows else None


def load_reasons(store: CollectionStore) -> dict[int, str]:
    """Return the reasons of all verdicts of the reviewer by page id."""
    sql = f"SELECT page, reason FROM reviewer_calls WHERE outcome IN {_VERDICT_OUTCOMES} ORDER BY number"
    return dict(store.query_typed_rows(tuple[int, str], sql))
