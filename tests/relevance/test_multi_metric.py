"""Several metrics vote on a page."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.records import Page
from topicrawl.relevance.directories import Directories, directory
from topicrawl.relevance.filter_choice import PRINTED
from topicrawl.relevance.filter_tuning import Recommended, Tuning, damped
from topicrawl.relevance.multi_metric import MultiMetric, Verdict
from topicrawl.relevance.sieve import Said, Sieve
from topicrawl.text.lexicon import lexicon
from topicrawl.topic import Filter, Thresholds

PLAIN = lexicon("xx")
#: Ten terms, ten pairs and twenty-five triples, of which a page may say some.
TERMS = {f"t{chr(97 + n)}": 1.0 for n in range(10)}
PAIRS = {f"p{chr(97 + n)} q{chr(97 + n)}": 1.0 for n in range(10)}
TRIPLES = {f"x{chr(97 + n)} y{chr(97 + n)} z{chr(97 + n)}": 1.0 for n in range(25)}
SIEVE = Sieve.of(Filter(TERMS, PAIRS, TRIPLES), PLAIN)
AT = Thresholds(vsm=0.18, terms=0.5, pairs=0.1, triples=0.08, passage=0.09)


def metrics(**options: object) -> MultiMetric:
    return MultiMetric(SIEVE, AT, **options)  # type: ignore[arg-type]


def page(*elements: str, url: str = "http://a.example/d/1", noise: int = 0) -> Page:
    """A page that says elements, each in a sentence of its own, and so many words of no meaning, far apart."""
    return Page(url, text=". ".join(elements) + "." + "".join(f"{' ' * 60}n{n}." for n in range(noise)))


def test_the_thresholds_are_those_of_table_2_of_kluev() -> None:
    assert PRINTED._asdict() == {"terms": 0.5, "pairs": 0.1, "triples": 0.08, "vsm": 0.18}


@pytest.mark.parametrize(
    ("elements", "noise", "votes", "group"),
    [
        ([], 5, (), ""),
        (list(TERMS)[:5], 40, ("terms", "vsm"), "undoubted"),
        (list(TERMS)[:5], 900, ("terms", "passage"), "undoubted"),
        (list(TERMS)[:4], 900, ("passage",), "passage"),
        (list(TERMS)[:4], 10, ("vsm",), "vsm"),
        (list(PAIRS)[:1], 0, ("collocations",), "filter"),
        (list(TRIPLES)[:1], 0, (), ""),
        (list(TRIPLES)[:2], 0, ("collocations",), "filter"),
        ([*list(TRIPLES)[:2], *list(TERMS)[:1]], 0, ("collocations", "passage"), "undoubted"),
    ],
)
def test_a_page_is_relevant_by_the_metrics_that_reach_their_thresholds(
    elements: list[str], noise: int, votes: tuple[str, ...], group: str
) -> None:
    """Kluev, section 4: shares of terms .5, pairs .1, triples .08; two or more metrics are undoubted."""
    verdict = metrics().judge(page(*elements, noise=noise))
    assert (verdict.metrics, verdict.group) == (votes, group)


@pytest.mark.parametrize("votes", [("collocations", "terms"), ("terms", "passage"), ("collocations", "terms", "vsm")])
def test_two_metrics_leave_no_doubt(votes: tuple[str, ...]) -> None:
    assert Verdict({}, votes, 1.0).undoubted
    assert not Verdict({}, votes[:1], 1.0).undoubted


def test_one_relevant_page_vouches_for_its_directory() -> None:
    judge = metrics()
    other = page("nothing", url="http://a.example/d/2")
    assert judge.judge(other).group == ""
    judge.seen(page(*list(TERMS)[:6]))
    assert judge.judge(other).group == "directory"
    assert judge.judge(page("nothing", url="http://a.example/e/2")).group == ""


def test_a_directory_is_trusted_as_far_as_its_pages_were_relevant() -> None:
    judge = metrics()
    judge.seen(page(*TERMS))
    first = judge.judge(page("nothing")).score
    for number in range(9):
        judge.seen(page("nothing", url=f"http://a.example/d/{number}"))
    assert judge.judge(page("nothing")).score == pytest.approx(first / 10)


@given(st.lists(st.sampled_from([*TERMS, *PAIRS, *TRIPLES, "other"])), st.integers(0, 30))
def test_the_score_is_from_0_to_1_and_grows_with_what_is_said(elements: list[str], noise: int) -> None:
    said = metrics().judge(page(*elements, noise=noise)).score
    all_said = metrics().judge(page(*TERMS, *PAIRS, *TRIPLES)).score
    assert 0 <= said <= all_said <= 1


def test_a_page_like_the_wrong_ones_is_pushed_down() -> None:
    judge = metrics()
    railway = page(*list(TERMS)[:5], *["locomotive"] * 20)
    before = judge.judge(railway)
    judge.learn(page(*["locomotive"] * 20, url="http://b.example/"), relevant=False)
    after = judge.judge(railway)
    assert before.metrics
    assert not after.metrics
    assert after.score < before.score / 2
    good = page(*TERMS)
    assert judge.judge(good).metrics == metrics().judge(good).metrics


# The filter follows what it recommends


def test_what_is_in_doubt_moves_nothing() -> None:
    judge = metrics(tuning=Tuning(every=1))
    doubtful = page(*list(PAIRS)[:1])
    assert judge.judge(doubtful).group == "filter"
    judge.seen(doubtful)
    assert judge.turns == 0
    assert judge.judge(page("nothing")).group == ""


def test_weights_move_by_a_fifth_of_the_way() -> None:
    """Kluev, section 4, step 5: a damping factor of .2."""
    assert damped(1.0, 0.0) == 0.8
    assert damped(0.5, 0.5) == 0.5


def test_the_variable_part_is_30_percent_of_middle_frequencies() -> None:
    judge = metrics(tuning=Tuning(every=20))
    for number in range(20):
        # "rare" is on one page in twenty, "middle" words on a fifth of them, "often" on all.
        middle = [f"middle{chr(97 + n)}" for n in range(8) if number % 5 == n % 5]
        judge.seen(page(*list(TERMS)[:6], *middle, "often", *["rare"] * (number == 3)))
    assert judge.turns == 1
    added = [term for term in judge.sieve.terms if term not in TERMS]
    assert len(added) == 3
    assert all(term.startswith("middle") for term in added)
    assert judge.sieve.terms["ta"] == pytest.approx(1.0)
    assert judge.sieve.terms["tj"] == pytest.approx(0.8)
    assert judge.permanent.terms == TERMS
    assert judge.lately.count == 0


def test_a_variable_part_is_replaced_and_never_grows() -> None:
    judge = metrics(tuning=Tuning(every=10))
    for number in range(50):
        judge.seen(page(*list(TERMS)[:8], *(f"w{chr(97 + (number * k) % 26)}x" for k in range(3))))
    assert judge.turns == 5
    assert len(judge.sieve.terms) <= 13


def test_what_is_kept_of_a_page_is_bounded() -> None:
    lately = Recommended()
    terms = [f"w{n}" for n in range(3000)]
    lately.add(Said(terms, [0], Counter(terms)), {"w2999": 1.0})
    assert len(lately.times) == 51
    assert not lately.pages["pairs"]


@given(st.lists(st.lists(st.sampled_from([*TERMS, *PAIRS, "other", "more"]), min_size=1), max_size=12))
def test_a_restored_model_judges_and_follows_alike(texts: list[list[str]]) -> None:
    one = metrics(tuning=Tuning(every=4), seed=3)
    pages = [page(*said, url=f"http://a.example/{number % 3}/{number}") for number, said in enumerate(texts)]
    for each in pages[: len(pages) // 2]:
        one.seen(each)
    one.learn(page("wrong"), relevant=False)
    two = MultiMetric.restored(json.loads(json.dumps(one.state())), PLAIN)
    assert [two.seen(each) for each in pages] == [one.seen(each) for each in pages]
    assert two.state() == one.state()


def test_directories_that_are_long_unseen_are_forgotten() -> None:
    known = Directories()
    for number in range(6000):
        known.seen(f"http://a.example/{number}/x", relevant=True)
    assert len(known.counts) == 5000
    assert known.share("http://a.example/0/y") == 0
    assert known.share("http://a.example/5999/y") == 1


def test_a_page_is_in_one_directory() -> None:
    assert directory("http://a.example/x/y.html") == directory("http://a.example/x/z.html?q=/a/b")
