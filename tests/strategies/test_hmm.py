"""The hidden Markov crawlers and their hybrids: Batsakis 2007, section 3.4."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from topicrawl.errors import StrategyError
from topicrawl.records import Carry, Link, Page, Place, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.hmm import HiddenMarkov, HiddenMarkovXMeans
from topicrawl.strategies.hybrid import Hybrid, HybridAnchor
from topicrawl.strategies.material import Nothing
from topicrawl.strategies.strategy import Setting
from topicrawl.topic import Topic

from .material import Made, url_of

TOPIC = Topic.of("dengue fever mosquito")
GOLDEN: dict[str, Carry] = {
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


def begun(crawler: HiddenMarkov) -> HiddenMarkov:
    crawler.begin(Setting(TOPIC, Vsm(TOPIC), Random(7)))
    return crawler


def trained(crawler: HiddenMarkov, material: Made | Nothing | None = None) -> HiddenMarkov:
    begun(crawler).prepare(material or Made())
    return crawler


def golden(crawler: HiddenMarkov, **changed: Carry) -> HiddenMarkov:
    begun(crawler).restore({**GOLDEN, **changed})
    return crawler


def visit(words: str, carry: Carry = None) -> Visit:
    return Visit(1, Link("http://a/"), Place(1.0, carry), "http://a/", Page("http://a/", words=tuple(words.split())))


def only(crawler: HiddenMarkov, at: Visit, anchor: str = "") -> Place:
    (place,) = crawler.place([Link("http://b/", anchor=anchor)], at)
    assert place is not None
    return place


def test_the_levels_of_batsakis_eq_5_and_6_travel_from_page_to_link_to_page() -> None:
    crawler = golden(HiddenMarkov(epsilon=0.0))
    first = only(crawler, visit("steam"))
    assert first.carry == [0.181818, 0.528926, 0.289256]
    assert first.score == pytest.approx(0.437190, abs=1e-6)
    second = only(crawler, visit("owl", first.carry))
    assert second.carry == pytest.approx([0.784866, 0.141585, 0.073548], abs=2e-6)
    assert second.score == pytest.approx(0.484739, abs=2e-6)
    assert dict(second.parts)["two_steps"] == pytest.approx(0.440494, abs=2e-6)


def test_two_steps_decide_where_one_step_is_almost_the_same() -> None:
    # Batsakis, Fig. 10: both lead to a relevant page with almost the same probability, the first sooner in two clicks.
    crawler = HiddenMarkov(epsilon=0.01)
    assert crawler.score(0.401, 0.5) > crawler.score(0.409, 0.2)
    assert crawler.score(0.401, 0.5) < crawler.score(0.411, 0.2)
    assert HiddenMarkov(epsilon=0.0).score(0.401, 0.5) < HiddenMarkov(epsilon=0.0).score(0.409, 0.2)
    assert crawler.score(1.0, 1.0) == 1.0


def test_eq_11_and_eq_12_of_batsakis() -> None:
    assert Hybrid().mixed(hmm=0.4, page=0.6, anchor=0.2) == pytest.approx(0.5)
    assert HybridAnchor().mixed(hmm=0.4, page=0.6, anchor=0.2) == pytest.approx(0.4)


def test_the_hybrids_add_how_like_the_relevant_pages_page_and_anchor_are() -> None:
    at = visit("owl")
    hmm = only(golden(HiddenMarkov(epsilon=0.0)), at).score
    assert only(golden(Hybrid()), at).score == pytest.approx((hmm + 1.0) / 2)
    assert only(golden(HybridAnchor()), at, "an owl").score == pytest.approx((hmm + 1.0) / 2)
    assert only(golden(HybridAnchor()), at, "a train").score == pytest.approx((hmm + 0.5) / 2)


def test_an_unknown_or_empty_page_moves_on_without_a_look() -> None:
    crawler = golden(HiddenMarkov(epsilon=0.0))
    expected = [round(share, 6) for share in crawler.trained.hmm.moved(GOLDEN["initial"])]  # type: ignore[arg-type]
    for words in ("", "zebra"):
        assert only(crawler, visit(words)).carry == pytest.approx(expected)


def test_levels_of_another_model_are_not_believed() -> None:
    crawler = golden(HiddenMarkov())
    assert only(crawler, visit("owl", [0.5, 0.5])) == only(crawler, visit("owl", None))


ON, OFF = "dengue fever mosquito virus serotypes", "steam locomotive railway platform signals"


@pytest.mark.parametrize(
    "crawler",
    [HiddenMarkov(), HiddenMarkovXMeans(), Hybrid(), HybridAnchor(), HiddenMarkov(positive_only=True)],
    ids=lambda crawler: crawler.name + "+" * crawler.positive_only,
)
def test_what_was_learned_goes_on_after_a_restart(crawler: HiddenMarkov) -> None:
    trained(crawler)
    again = begun(type(crawler)(positive_only=crawler.positive_only))
    again.restore(json.loads(json.dumps(crawler.state())))
    for words in (ON, OFF, ""):
        assert only(again, visit(words), "fever") == only(crawler, visit(words), "fever")
    assert again.state() == crawler.state()


def test_relevant_pages_are_a_cluster_of_their_own() -> None:
    crawler = trained(HiddenMarkov(clusters=3))
    vector = crawler.trained.centroid.vector
    assert crawler.trained.cluster(vector(Page("u", words=tuple(ON.split())))) == 2
    assert crawler.trained.cluster(vector(Page("u", words=tuple(OFF.split())))) in (0, 1)
    assert crawler.trained.hmm.clusters == 3


def test_x_means_clusters_relevant_and_irrelevant_pages_together_with_their_own_idf() -> None:
    plain = trained(HiddenMarkovXMeans()).trained.plain
    assert plain["clustering"] == "xmeans"
    assert plain["idf"]["dengu"] == pytest.approx(0.5978, abs=0.2)
    assert {label for label, _, _ in plain["pages"]} == set(range(len(plain["emission"][0])))


def test_positive_examples_alone_need_no_irrelevant_page() -> None:
    made = Made()
    made.irrelevant = ()
    with_none = trained(HiddenMarkov(positive_only=True), made)
    assert with_none.state() == trained(HiddenMarkov(positive_only=True)).state()
    assert with_none.trained.plain["pages"] == []
    assert only(with_none, visit(ON)).parts != only(with_none, visit(OFF)).parts


def test_sessions_alone_are_labelled_by_the_judge() -> None:
    made = Made()
    made.relevant = made.irrelevant = ()
    learned = trained(HiddenMarkov(), made).trained.plain["learned_from"]
    assert learned["relevant"] > 0
    assert learned["walks"] >= 2


def test_examples_alone_are_walked_back_over_the_links() -> None:
    made = Made()
    made.sessions = ()
    made.relevant = (url_of("dengue", 0), url_of("dengue", 5))
    plain = trained(HiddenMarkov(smoothing=0.0), made).trained.plain
    assert plain["learned_from"]["walks"] > 4
    assert plain["transition"][1][0] == 1.0  # the page before a relevant one leads to it


def test_no_more_pages_are_read_than_allowed() -> None:
    made = Made()
    made.sessions = tuple((url_of("railway", n), url_of("dengue", n)) for n in range(10)) * 50
    read: list[str] = []
    page = made.page
    made.page = lambda url: read.append(url) or page(url)  # type: ignore[assignment,func-returns-value,method-assign]
    plain = trained(HiddenMarkov(pages=12, sessions=30), made).trained.plain
    assert len(set(read)) <= 12
    assert plain["learned_from"]["walks"] <= 30 + 12


def test_missing_material_is_one_line_that_says_how_to_make_it() -> None:
    with pytest.raises(StrategyError, match=r"hmm learns from .* `topicrawl train hmm` .* hmm:model=FILE"):
        trained(HiddenMarkov(), Nothing())
    gone = Made()
    gone.relevant = ("http://gone/",)
    with pytest.raises(StrategyError, match=r"none of the 1 relevant examples is in the web .* http://gone/"):
        trained(HiddenMarkov(), gone)
    dull = Made()
    dull.relevant, dull.sessions = (), ((url_of("railway", 1), url_of("railway", 2)),)
    with pytest.raises(StrategyError, match="no page of the 1 browsing sessions is relevant"):
        trained(HiddenMarkov(), dull)


@pytest.mark.parametrize(
    "values", [{"clusters": 1}, {"levels": 1}, {"neighbours": 0}, {"epsilon": 1.0}, {"smoothing": -1.0}, {"pages": 9}]
)
def test_parameters_out_of_range_are_refused(values: dict[str, int]) -> None:
    with pytest.raises(StrategyError, match=next(iter(values))):
        HiddenMarkov(**values)  # type: ignore[arg-type]


def write(path: Path, **file: object) -> str:
    path.write_text(json.dumps(file), "utf-8")
    return str(path)


def test_a_model_from_a_file_is_the_model(tmp_path: Path) -> None:
    model = write(tmp_path / "m.json", kind="hmm", model=trained(HiddenMarkov()).state())
    for kind in (HiddenMarkov, Hybrid, HybridAnchor):
        assert trained(kind(model=model), Nothing()).state() == trained(HiddenMarkov()).state()


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
def test_a_file_that_is_no_model_is_one_line(tmp_path: Path, file: dict[str, object], words: str) -> None:
    with pytest.raises(StrategyError, match=words) as raised:
        trained(HiddenMarkov(model=write(tmp_path / "m.json", **file)), Nothing())
    assert "topicrawl train hmm" in str(raised.value)


def test_a_missing_or_broken_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    for name in ("broken.json", "nowhere.json"):
        with pytest.raises(StrategyError, match=name):
            trained(HiddenMarkov(model=str(tmp_path / name)), Nothing())


_DIGESTS = """
import hashlib, json, sys
from tests.strategies.test_hmm import HiddenMarkov, HiddenMarkovXMeans, trained
for crawler in (HiddenMarkov(), HiddenMarkovXMeans(), HiddenMarkov(positive_only=True)):
    print(hashlib.sha256(json.dumps(trained(crawler).state()).encode()).hexdigest())
"""


def test_the_same_material_gives_the_same_model_whatever_the_hash_seed() -> None:
    def digests(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        root = Path(__file__).parent.parent.parent
        return subprocess.run(
            [sys.executable, "-c", _DIGESTS], cwd=root, env=environment, capture_output=True, text=True, check=True
        ).stdout

    first = digests("1")
    assert len(first.split()) == 3
    assert first == digests("2")
