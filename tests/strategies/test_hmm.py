"""Tests of the hidden Markov crawlers and their hybrids: Batsakis 2007, section 3.4."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from tests.helpers.markers import LONG
from tests.helpers.training_data import SampleTrainingData, build_url

from topicrawl.errors import StrategyError
from topicrawl.models import JsonValue, Link, Page, Priority, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.hmm import HiddenMarkovStrategy, HiddenMarkovXMeansStrategy
from topicrawl.strategies.hybrid import HybridAnchorStrategy, HybridStrategy
from topicrawl.strategies.training.training_data import UrlsOnlyTrainingData
from topicrawl.topic import Topic

TOPIC = Topic.of("dengue fever mosquito")
GOLDEN: dict[str, JsonValue] = {
    "clustering": "kmeans",
    "neighbours": 1,
    "initial": [0.2, 0.3, 0.5],
    "transition": [[0.5, 0.3, 0.2], [0.6, 0.2, 0.2], [0.1, 0.4, 0.5]],
    "emission": [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]],
    "terms": ["owl", "steam", "train"],
    "pages": [[0, [0], [1000]], [1, [1], [1000]], [2, [2], [1000]]],
    "centroid": {"owl": 1.0},
    "idf": None,
    "bands": [],
    "learned_from": {"walks": 3, "pages": 3, "relevant": 1},
}


def bind_crawler(crawler: HiddenMarkovStrategy) -> HiddenMarkovStrategy:
    crawler.bind(StrategyContext(TOPIC, Vsm(TOPIC), Random(7)))
    return crawler


def train_crawler(
    crawler: HiddenMarkovStrategy, material: SampleTrainingData | UrlsOnlyTrainingData | None = None
) -> HiddenMarkovStrategy:
    bind_crawler(crawler).fit(material or SampleTrainingData())
    return crawler


def restore_golden(crawler: HiddenMarkovStrategy, **changed: JsonValue) -> HiddenMarkovStrategy:
    bind_crawler(crawler).restore_state({**GOLDEN, **changed})
    return crawler


def visit(words: str, carry: JsonValue = None) -> Visit:
    return Visit(1, Link("http://a/"), Priority(1.0, carry), "http://a/", Page("http://a/", words=tuple(words.split())))


def score_single_link(crawler: HiddenMarkovStrategy, at: Visit, anchor: str = "") -> Priority:
    (place,) = crawler.score_links([Link("http://b/", anchor=anchor)], at)
    assert place is not None
    return place


def test_payloads_pass_the_levels_of_batsakis_eq_5_and_6_along_links() -> None:
    crawler = restore_golden(HiddenMarkovStrategy(epsilon=0.0))
    first = score_single_link(crawler, visit("steam"))
    assert first.payload == [0.181818, 0.528926, 0.289256]
    assert first.score == pytest.approx(0.437190, abs=1e-6)
    second = score_single_link(crawler, visit("owl", first.payload))
    assert second.payload == pytest.approx([0.784866, 0.141585, 0.073548], abs=2e-6)
    assert second.score == pytest.approx(0.484739, abs=2e-6)
    assert dict(second.parts)["two_steps"] == pytest.approx(0.440494, abs=2e-6)


def test_two_step_probabilities_break_near_ties() -> None:
    # Batsakis, Fig. 10: the one-click probabilities are almost equal, and the first is better in two clicks.
    crawler = HiddenMarkovStrategy(epsilon=0.01)
    assert crawler.compute_score(0.401, 0.5) > crawler.compute_score(0.409, 0.2)
    assert crawler.compute_score(0.401, 0.5) < crawler.compute_score(0.411, 0.2)
    assert HiddenMarkovStrategy(epsilon=0.0).compute_score(0.401, 0.5) < HiddenMarkovStrategy(
        epsilon=0.0
    ).compute_score(0.409, 0.2)
    assert crawler.compute_score(1.0, 1.0) == 1.0


def test_eq_11_and_eq_12_of_batsakis() -> None:
    assert HybridStrategy().mix_scores(hmm=0.4, page=0.6, anchor=0.2) == pytest.approx(0.5)
    assert HybridAnchorStrategy().mix_scores(hmm=0.4, page=0.6, anchor=0.2) == pytest.approx(0.4)


def test_the_hybrids_add_similarity_to_relevant_pages() -> None:
    at = visit("owl")
    hmm = score_single_link(restore_golden(HiddenMarkovStrategy(epsilon=0.0)), at).score
    assert score_single_link(restore_golden(HybridStrategy()), at).score == pytest.approx((hmm + 1.0) / 2)
    assert score_single_link(restore_golden(HybridAnchorStrategy()), at, "an owl").score == pytest.approx(
        (hmm + 1.0) / 2
    )
    assert score_single_link(restore_golden(HybridAnchorStrategy()), at, "a train").score == pytest.approx(
        (hmm + 0.5) / 2
    )


def test_an_unknown_or_empty_page_is_a_step_without_observation() -> None:
    crawler = restore_golden(HiddenMarkovStrategy(epsilon=0.0))
    expected = [round(share, 6) for share in crawler.path_model.hmm.advance(GOLDEN["initial"])]  # type: ignore[arg-type]
    for words in ("", "zebra"):
        assert score_single_link(crawler, visit(words)).payload == pytest.approx(expected)


def test_payloads_of_another_model_are_ignored() -> None:
    crawler = restore_golden(HiddenMarkovStrategy())
    assert score_single_link(crawler, visit("owl", [0.5, 0.5])) == score_single_link(crawler, visit("owl", None))


ON, OFF = "dengue fever mosquito virus serotypes", "steam locomotive railway platform signals"


@pytest.mark.parametrize(
    "crawler",
    [
        HiddenMarkovStrategy(),
        HiddenMarkovXMeansStrategy(),
        HybridStrategy(),
        HybridAnchorStrategy(),
        HiddenMarkovStrategy(positive_only=True, judged=False),
    ],
    ids=lambda crawler: crawler.name + "+" * crawler.positive_only,
)
def test_a_trained_model_survives_a_restart(crawler: HiddenMarkovStrategy) -> None:
    train_crawler(crawler)
    again = bind_crawler(type(crawler)(positive_only=crawler.positive_only))
    again.restore_state(json.loads(json.dumps(crawler.get_state())))
    for words in (ON, OFF, ""):
        assert score_single_link(again, visit(words), "fever") == score_single_link(crawler, visit(words), "fever")
    assert again.get_state() == crawler.get_state()


def test_relevant_pages_have_their_own_cluster() -> None:
    crawler = train_crawler(HiddenMarkovStrategy(clusters=3))
    vector = crawler.path_model.centroid.build_vector
    assert crawler.path_model.assign_cluster(vector(Page("u", words=tuple(ON.split())))) == 2
    assert crawler.path_model.assign_cluster(vector(Page("u", words=tuple(OFF.split())))) in (0, 1)
    assert crawler.path_model.hmm.cluster_count == 3


def test_x_means_clusters_relevant_and_irrelevant_pages_together_with_their_own_idf() -> None:
    plain = train_crawler(HiddenMarkovXMeansStrategy()).path_model.state
    assert plain["clustering"] == "xmeans"
    assert plain["idf"]["dengu"] == pytest.approx(0.5978, abs=0.2)
    assert {label for label, _, _ in plain["pages"]} == set(range(len(plain["emission"][0])))


def test_positive_examples_alone_need_no_irrelevant_page() -> None:
    made = SampleTrainingData()
    made.irrelevant = ()
    with_none = train_crawler(HiddenMarkovStrategy(positive_only=True, judged=False), made)
    assert with_none.get_state() == train_crawler(HiddenMarkovStrategy(positive_only=True, judged=False)).get_state()
    assert with_none.path_model.state["pages"] == []
    assert score_single_link(with_none, visit(ON)).parts != score_single_link(with_none, visit(OFF)).parts


def test_without_examples_session_pages_are_labelled_by_similarity() -> None:
    made = SampleTrainingData()
    made.relevant = made.irrelevant = ()
    learned = train_crawler(HiddenMarkovStrategy(), made).path_model.state["learned_from"]
    assert learned["relevant"] > 0
    assert learned["walks"] >= 2


def test_without_sessions_paths_follow_links_backwards() -> None:
    made = SampleTrainingData()
    made.sessions = ()
    made.relevant = (build_url("dengue", 0), build_url("dengue", 5))
    plain = train_crawler(HiddenMarkovStrategy(smoothing=0.0), made).path_model.state
    assert plain["learned_from"]["walks"] > 4
    assert plain["transition"][1][0] == 1.0  # the page before a relevant page leads to it


def test_the_page_limit_is_respected() -> None:
    made = SampleTrainingData()
    made.sessions = tuple((build_url("railway", n), build_url("dengue", n)) for n in range(10)) * 50
    read: list[str] = []
    page = made.get_page
    made.get_page = lambda url: read.append(url) or page(url)  # type: ignore[assignment,func-returns-value,method-assign]
    plain = train_crawler(HiddenMarkovStrategy(pages=12, sessions=30), made).path_model.state
    assert len(set(read)) <= 12
    assert plain["learned_from"]["walks"] <= 30 + 12


def test_missing_training_data_is_reported_with_a_hint() -> None:
    with pytest.raises(StrategyError, match=r"hmm needs .* `topicrawl train hmm` .* hmm:model=FILE"):
        train_crawler(HiddenMarkovStrategy(), UrlsOnlyTrainingData())
    gone = SampleTrainingData()
    gone.relevant = ("http://gone/",)
    with pytest.raises(
        StrategyError, match=r"none of the 1 relevant examples is in the training data, .* http://gone/"
    ):
        train_crawler(HiddenMarkovStrategy(), gone)
    dull = SampleTrainingData()
    dull.relevant, dull.sessions = (), ((build_url("railway", 1), build_url("railway", 2)),)
    with pytest.raises(StrategyError, match="no page of the 1 browsing sessions is relevant"):
        train_crawler(HiddenMarkovStrategy(), dull)


@pytest.mark.parametrize(
    "values", [{"clusters": 1}, {"levels": 1}, {"neighbours": 0}, {"epsilon": 1.0}, {"smoothing": -1.0}, {"pages": 9}]
)
def test_parameters_out_of_range_are_rejected(values: dict[str, int]) -> None:
    with pytest.raises(StrategyError, match=next(iter(values))):
        HiddenMarkovStrategy(**values)  # type: ignore[arg-type]


def write(path: Path, **file: object) -> str:
    path.write_text(json.dumps(file), "utf-8")
    return str(path)


def test_a_model_file_restores_the_trained_model(tmp_path: Path) -> None:
    model = write(tmp_path / "m.json", kind="hmm", model=train_crawler(HiddenMarkovStrategy()).get_state())
    for kind in (HiddenMarkovStrategy, HybridStrategy, HybridAnchorStrategy):
        assert (
            train_crawler(kind(model=model), UrlsOnlyTrainingData()).get_state()
            == train_crawler(HiddenMarkovStrategy()).get_state()
        )


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ({"kind": "nb", "model": {}}, r"of another kind \(nb\)"),
        ({"kind": "hmm", "model": {}}, "is not a model"),
        ({"kind": "hmm"}, "is not a model"),
        ({"kind": "hmm", "model": {**GOLDEN, "pages": [[0, [7], [1]]]}}, "is not a model"),
        ({"kind": "hmm", "model": {**GOLDEN, "pages": [[3, [0], [1]]]}}, "is not a model"),
        ({"kind": "hmm", "model": {**GOLDEN, "initial": [0.5, 0.5]}}, "is not a model"),
        ({"kind": "hmm", "model": {**GOLDEN, "initial": [0.5, "x", 0.5]}}, "is not a model"),
        ({"kind": "hmm", "model": {**GOLDEN, "clustering": "xmeans"}}, "has clusters of xmeans"),
    ],
)
def test_an_invalid_model_file_is_reported_with_a_hint(tmp_path: Path, file: dict[str, object], words: str) -> None:
    with pytest.raises(StrategyError, match=words) as raised:
        train_crawler(HiddenMarkovStrategy(model=write(tmp_path / "m.json", **file)), UrlsOnlyTrainingData())
    assert "topicrawl train hmm" in str(raised.value)


def test_a_missing_or_broken_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    for name in ("broken.json", "nowhere.json"):
        with pytest.raises(StrategyError, match=name):
            train_crawler(HiddenMarkovStrategy(model=str(tmp_path / name)), UrlsOnlyTrainingData())


_DIGESTS = """
import hashlib, json, sys
from tests.strategies.test_hmm import HiddenMarkovStrategy, HiddenMarkovXMeansStrategy, train_crawler
for crawler in (HiddenMarkovStrategy(), HiddenMarkovXMeansStrategy(), HiddenMarkovStrategy(positive_only=True)):
    print(hashlib.sha256(json.dumps(train_crawler(crawler).get_state()).encode()).hexdigest())
"""


@LONG
def test_training_does_not_depend_on_the_hash_seed() -> None:
    def digests(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        root = Path(__file__).parent.parent.parent
        return subprocess.run(
            [sys.executable, "-c", _DIGESTS], cwd=root, env=environment, capture_output=True, text=True, check=True
        ).stdout

    first = digests("1")
    assert len(first.split()) == 3
    assert first == digests("2")
