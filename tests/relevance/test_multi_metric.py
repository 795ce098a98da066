"""Tests of the multi-metric relevance model."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.models import Page
from topicrawl.relevance.directory_heuristic import DirectoryStats, get_directory
from topicrawl.relevance.filter_choice import PAPER_THRESHOLDS
from topicrawl.relevance.filter_model import FilterModel, PageTerms
from topicrawl.relevance.filter_tuning import FilterTuning, RecommendedPageStats, damp_weight
from topicrawl.relevance.multi_metric import FilterVerdict, MultiMetricJudge
from topicrawl.text.lexicon import load_lexicon
from topicrawl.topic import Thresholds, TopicFilter

PLAIN = load_lexicon("xx")
#: A filter of ten terms, ten pairs and twenty-five triples.
TERMS = {f"t{chr(97 + n)}": 1.0 for n in range(10)}
PAIRS = {f"p{chr(97 + n)} q{chr(97 + n)}": 1.0 for n in range(10)}
TRIPLES = {f"x{chr(97 + n)} y{chr(97 + n)} z{chr(97 + n)}": 1.0 for n in range(25)}
SIEVE = FilterModel.of(TopicFilter(TERMS, PAIRS, TRIPLES), PLAIN)
AT = Thresholds(vsm=0.18, terms=0.5, pairs=0.1, triples=0.08, passage=0.09)


def metrics(**options: object) -> MultiMetricJudge:
    return MultiMetricJudge(SIEVE, AT, **options)  # type: ignore[arg-type]


def page(*elements: str, url: str = "http://a.example/d/1", noise: int = 0) -> Page:
    """Return a page with each element in a separate sentence, and `noise` other words, far apart."""
    return Page(url, text=". ".join(elements) + "." + "".join(f"{' ' * 60}n{n}." for n in range(noise)))


def test_thresholds_of_kluev_table_2() -> None:
    assert PAPER_THRESHOLDS._asdict() == {"terms": 0.5, "pairs": 0.1, "triples": 0.08, "vsm": 0.18}


@pytest.mark.parametrize(
    ("elements", "noise", "votes", "group"),
    [
        ([], 5, (), ""),
        (list(TERMS)[:5], 40, ("terms", "vsm"), "undoubted"),
        (list(TERMS)[:5], 900, ("terms", "passage"), "passage"),
        (list(TERMS)[:4], 900, ("passage",), "passage"),
        (list(TERMS)[:4], 10, ("vsm",), "vsm"),
        (list(PAIRS)[:1], 0, ("collocations",), ""),
        (list(TRIPLES)[:1], 0, (), ""),
        (list(TRIPLES)[:2], 0, ("collocations",), ""),
        ([*list(TRIPLES)[:2], *list(TERMS)[:1]], 0, ("collocations", "passage"), "passage"),
    ],
)
def test_metrics_vote_when_they_reach_their_thresholds(
    elements: list[str], noise: int, votes: tuple[str, ...], group: str
) -> None:
    """Kluev, section 4: shares of terms .5, pairs .1, triples .08; two metrics besides the passage are undoubted."""
    verdict = metrics().judge_page(page(*elements, noise=noise))
    assert (verdict.metrics, verdict.group) == (votes, group)


def test_undoubted_pages_reach_the_higher_thresholds() -> None:
    """Two metrics that reach the normal thresholds recommend a page, but do not make it undoubted."""
    strict = metrics()
    strict.thresholds = dataclasses.replace(AT, undoubted_terms=0.8, undoubted_pairs=0.3, undoubted_triples=0.5)
    weak, strong = page(*list(TERMS)[:5], *list(PAIRS)[:2]), page(*list(TERMS)[:8], *list(PAIRS)[:3])
    assert metrics().judge_page(weak).group == "undoubted"
    verdict = strict.judge_page(weak)
    assert (set(verdict.metrics), verdict.group) == ({"terms", "collocations", "vsm"}, "vsm")
    assert strict.judge_page(strong).group == "undoubted"
    # Terms and collocations without similarity: the first subdirectory of section 4, step 7.
    far = page(*list(TERMS)[:5], *list(PAIRS)[:2], noise=900)
    assert (metrics().judge_page(far).group, strict.judge_page(far).group) == ("undoubted", "terms")
    restored = MultiMetricJudge.from_state(json.loads(json.dumps(strict.get_state())), PLAIN)
    assert restored.judge_page(weak).group == "vsm"


def test_passage_and_one_weak_metric_are_not_undoubted() -> None:
    verdict = metrics().judge_page(page(*list(TERMS)[:5], noise=900))
    assert (verdict.metrics, verdict.is_undoubted, verdict.group) == (("terms", "passage"), False, "passage")


@pytest.mark.parametrize("metric", ["terms", "collocations"])
def test_terms_or_collocations_alone_do_not_recommend_a_page(metric: str) -> None:
    """In Table 4, the undoubted, vsm, passage and heuristic pages add up to the recommended ones."""
    assert FilterVerdict({}, (metric,), 1.0).group == ""
    assert 2678 + 626 + 2025 + 2826 == 8155


def test_undoubted_page_counts_for_its_directory() -> None:
    judge = metrics()
    other = page("nothing", url="http://a.example/d/2")
    assert judge.judge_page(other).group == ""
    judge.observe_page(page(*list(TERMS)[:6]))
    assert judge.judge_page(other).group == "directory"
    assert judge.judge_page(page("nothing", url="http://a.example/e/2")).group == ""


def test_directory_score_is_its_share_of_relevant_pages() -> None:
    judge = metrics()
    judge.observe_page(page(*TERMS))
    first = judge.judge_page(page("nothing")).score
    for number in range(9):
        judge.observe_page(page("nothing", url=f"http://a.example/d/{number}"))
    assert judge.judge_page(page("nothing")).score == pytest.approx(first / 10)


@given(st.lists(st.sampled_from([*TERMS, *PAIRS, *TRIPLES, "other"])), st.integers(0, 30))
def test_score_is_from_0_to_1_and_highest_for_the_whole_filter(elements: list[str], noise: int) -> None:
    score = metrics().judge_page(page(*elements, noise=noise)).score
    whole_filter = metrics().judge_page(page(*TERMS, *PAIRS, *TRIPLES)).score
    assert 0 <= score <= whole_filter <= 1


def test_page_similar_to_rejected_pages_gets_a_lower_score() -> None:
    judge = metrics()
    railway = page(*list(TERMS)[:5], *["locomotive"] * 20)
    before = judge.judge_page(railway)
    judge.learn(page(*["locomotive"] * 20, url="http://b.example/"), relevant=False)
    after = judge.judge_page(railway)
    assert before.metrics
    assert not after.metrics
    assert after.score < before.score / 2
    good = page(*TERMS)
    assert judge.judge_page(good).metrics == metrics().judge_page(good).metrics


# The variable part of the filter


def test_doubtful_page_does_not_update_the_filter() -> None:
    judge = metrics(tuning=FilterTuning(interval=1))
    doubtful = page(*list(PAIRS)[:1])
    assert judge.judge_page(doubtful).metrics == ("collocations",)
    judge.observe_page(doubtful)
    assert judge.update_count == 0
    assert judge.judge_page(page("nothing")).group == ""


def test_damping_factor_is_a_fifth() -> None:
    """Kluev, section 4, step 5: a damping factor of .2."""
    assert damp_weight(1.0, 0.0) == 0.8
    assert damp_weight(0.5, 0.5) == 0.5


def test_variable_part_is_30_percent_of_middle_frequency() -> None:
    judge = metrics(tuning=FilterTuning(interval=20))
    for number in range(20):
        # "rare" is on one of twenty pages, "middle" words are on a fifth of them, "often" is on all.
        middle = [f"middle{chr(97 + n)}" for n in range(8) if number % 5 == n % 5]
        judge.observe_page(page(*list(TERMS)[:6], *middle, "often", *["rare"] * (number == 3)))
    assert judge.update_count == 1
    added = [term for term in judge.current.terms if term not in TERMS]
    assert len(added) == 3
    assert all(term.startswith("middle") for term in added)
    assert judge.current.terms["ta"] == pytest.approx(1.0)
    assert judge.current.terms["tj"] == pytest.approx(0.8)
    assert judge.permanent.terms == TERMS
    assert judge.recent.page_count == 0


def test_variable_part_is_replaced() -> None:
    judge = metrics(tuning=FilterTuning(interval=10))
    for number in range(50):
        judge.observe_page(page(*list(TERMS)[:8], *(f"w{chr(97 + (number * k) % 26)}x" for k in range(3))))
    assert judge.update_count == 5
    assert len(judge.current.terms) <= 13


def test_statistics_per_page_are_bounded() -> None:
    stats = RecommendedPageStats()
    terms = [f"w{n}" for n in range(3000)]
    stats.add(PageTerms(terms, [0], Counter(terms)), {"w2999": 1.0})
    assert len(stats.term_counts) == 51
    assert not stats.page_counts["pairs"]


@given(st.lists(st.lists(st.sampled_from([*TERMS, *PAIRS, "other", "more"]), min_size=1), max_size=12))
def test_restored_model_behaves_like_the_original(texts: list[list[str]]) -> None:
    one = metrics(tuning=FilterTuning(interval=4), seed=3)
    pages = [page(*elements, url=f"http://a.example/{number % 3}/{number}") for number, elements in enumerate(texts)]
    for each in pages[: len(pages) // 2]:
        one.observe_page(each)
    one.learn(page("wrong"), relevant=False)
    two = MultiMetricJudge.from_state(json.loads(json.dumps(one.get_state())), PLAIN)
    assert [two.observe_page(each) for each in pages] == [one.observe_page(each) for each in pages]
    assert two.get_state() == one.get_state()


def test_least_recently_updated_directories_are_dropped() -> None:
    known = DirectoryStats()
    for number in range(6000):
        known.record_page(f"http://a.example/{number}/x", relevant=True)
    assert len(known.counts) == 5000
    assert known.get_relevant_share("http://a.example/0/y") == 0
    assert known.get_relevant_share("http://a.example/5999/y") == 1


def test_directory_of_a_url() -> None:
    assert get_directory("http://a.example/x/y.html") == get_directory("http://a.example/x/z.html?q=/a/b")
