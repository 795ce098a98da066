"""Tests of Hati's crawler: the tables of Hati et al. 2010, and the evidence from pages."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests.helpers.markers import LONG
from tests.helpers.training_data import SampleTrainingData

from topicrawl.errors import StrategyError
from topicrawl.models import Link, Page, Priority, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import create_strategy
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.hati import Hati
from topicrawl.strategies.training.classifiers import LinkClassifier
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic

TOPIC = Topic.of("dengue fever mosquito")
#: Tables 3, 6, 4 (ten keywords) and 7: the seven seeds of the paper, five relevant and two irrelevant.
SCORES = [
    (0.694802718, 0.93615100, 7 / 10, 0.9),
    (0.797621566, 0.81948239, 7 / 10, 0.9),
    (0.648112149, 0.791265451, 7 / 10, 0.7),
    (0.828339066, 0.953638167, 5 / 10, 0.5),
    (0.712560398, 0.954884907, 3 / 10, 0.7),
    (0.1854898548, 0.685672724, 7 / 10, 0.4),
    (0.532127555, 0.817865479, 3 / 10, 0.7),
]
TABLE_8 = ["NYYY", "YYYY", "NNYY", "YYNN", "YYNY", "NNYN", "NYNY"]
LABELS = [True] * 5 + [False] * 2


def bind_hati(spec: str = "hati", *, topic: Topic = TOPIC) -> Hati:
    strategy = create_strategy(spec)
    assert isinstance(strategy, Hati)
    strategy.bind(StrategyContext(topic, Vsm(topic), Random(0)))
    strategy.fit(SampleTrainingData())
    return strategy


def values(row: str) -> tuple[float, ...]:
    return tuple(1.0 if letter == "Y" else 0.0 for letter in row)


def visit(text: str = "", url: str = "http://a/") -> Visit:
    return Visit(1, Link(url), Priority(1.0), url, Page(url, text=text, words=tuple(tokenise(text))), 0.5)


def parts(strategy: Hati, link: Link, at: Visit) -> dict[str, float]:
    (place,) = strategy.score_links([link], at)
    assert place is not None
    return dict(place.parts)


def test_the_thresholds_reproduce_table_8() -> None:
    limits = Hati().get_thresholds()
    for scores, row in zip(SCORES, TABLE_8, strict=True):
        assert tuple(float(score > limit) for score, limit in zip(scores, limits, strict=True)) == values(row)


@pytest.mark.parametrize(
    ("row", "smoothing", "posterior"),
    [
        ("NYNY", False, 256 / 381),  # the attributes named in the paper
        ("NYYY", False, 384 / 509),  # the attributes that the paper multiplies
        ("NYNY", True, 0.6665740869),
        ("NYYN", True, 0.5160),
        ("NNYY", True, 0.5160),
    ],
)
def test_the_worked_example_from_the_scores_of_the_tables(row: str, smoothing: bool, posterior: float) -> None:
    strategy = Hati(smoothing=smoothing, tune=False)
    strategy.bind(StrategyContext(TOPIC, Vsm(TOPIC), Random(0)))
    guide = LinkClassifier.fit(strategy.classifier_config, SCORES, LABELS)
    assert guide.predict(values(row)) == pytest.approx(posterior, abs=5e-5)


def test_parents_count_with_their_mean() -> None:
    strategy = bind_hati()
    link = Link("http://b/x", "http://a/")
    on, off = visit("dengue fever mosquito dengue fever"), visit("railway", "http://c/")
    (first,), (second,) = strategy.score_links([link], on), strategy.score_links([link], off)
    assert first is not None
    assert second is not None
    both = dict(strategy.merge(first, second).parts)["parents"]
    assert both == pytest.approx(dict(first.parts)["parents"] / 2, abs=1e-6)
    assert dict(second.parts)["parents"] == 0


def test_the_sixth_page_is_ignored() -> None:
    strategy = bind_hati()
    link = Link("http://b/x", "http://a/")
    (place,) = strategy.score_links([link], visit("railway"))
    (other,) = strategy.score_links([link], visit("dengue fever mosquito"))
    assert place is not None
    assert other is not None
    for _ in range(4):
        place = strategy.merge(place, place)
    assert strategy.merge(place, other) == place


def test_cohesive_text_is_the_share_of_the_keywords_in_the_sentences_around_a_link() -> None:
    strategy = bind_hati("hati:k=3")
    text = "A fever comes. It is high. See this page. The mosquito bites. Dengue."
    near = parts(strategy, Link("http://b/x", "http://a/", "page", sentence="See this page."), visit(text))
    assert near["cohesive"] == pytest.approx(2 / 3)  # the mosquito after the link, and the fever that "It" refers to
    lean = parts(strategy, Link("http://b/x", "http://a/", "high", sentence="It is high."), visit(text))
    assert lean["cohesive"] == pytest.approx(1 / 3)  # the fever before the link


def test_related_words_count_in_anchors() -> None:
    with_them, without = bind_hati("hati:related=0"), bind_hati("hati:wordnet=no,related=0")
    # In WordNet a fever is a symptom.
    link = Link("http://b/x", anchor="symptom")
    assert parts(with_them, link, visit())["anchor"] > parts(without, link, visit())["anchor"] == 0


def test_words_near_the_keywords_of_the_examples_count_in_anchors() -> None:
    strategy, plain = bind_hati("hati:wordnet=no,k=3"), bind_hati("hati:wordnet=no,related=0,k=3")
    # The pages say that the mosquito Aedes aegypti spreads dengue fever. "aegypti" is not a keyword and has no vector.
    link = Link("http://b/x", anchor="aegypti")
    assert "aegypti" not in " ".join(strategy.exact_table.words)
    assert parts(strategy, link, visit())["anchor"] > parts(plain, link, visit())["anchor"] == 0
    restored = create_strategy("hati:wordnet=no,k=3")
    assert isinstance(restored, Hati)
    restored.bind(StrategyContext(TOPIC, Vsm(TOPIC), Random(0)))
    restored.restore_state(strategy.get_state())
    assert parts(restored, link, visit()) == parts(strategy, link, visit())


@LONG
def test_the_limits_are_tuned_and_an_attribute_without_effect_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    bind_hati("hati:tune=no,parents=2")
    assert "hati: no training row is above the limit 2.00 of the attribute parents" in caplog.text
    assert bind_hati().classifier.thresholds != bind_hati("hati:tune=no").classifier.thresholds


def test_descriptions_are_read_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "descriptions.tsv"
    path.write_text("# url, tab, text\nhttp://b/x\tDengue fever,\nhttp://b/x\tby the mosquito\n", "utf-8")
    strategy = bind_hati(f"hati:descriptions={path}")
    described = parts(strategy, Link("http://b/x", anchor="locomotive"), visit())
    other = parts(strategy, Link("http://b/y", anchor="locomotive"), visit())
    assert described["description"] > 0.5
    assert other["description"] == 0


def test_without_a_description_the_links_describe_a_url() -> None:
    strategy = bind_hati()
    described = parts(strategy, Link("http://b/mosquito", anchor="dengue", before=("high",), after=("fever",)), visit())
    assert described["description"] > 0.5
    assert parts(strategy, Link("http://b/x", anchor="imprint"), visit())["description"] == 0


def test_no_link_is_dropped_and_the_more_probable_link_scores_higher() -> None:
    strategy = bind_hati("hati:tune=yes")
    text = "Dengue fever is spread by the mosquito. The virus of dengue. The fever starts."
    on = Link("http://made/dengue/11", "http://a/", "dengue fever", before=("dengue",), after=("fever",))
    off = Link("http://b/imprint", "http://a/", "imprint")
    better, worse = strategy.score_links([on, off], visit(text))
    assert better is not None
    assert worse is not None
    assert better.score >= worse.score > 0


@pytest.mark.parametrize("line", ["http://b/x no tab", "not a url\ttext", "\ttext"])
def test_an_error_in_the_descriptions_file_has_a_line_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "descriptions.tsv"
    path.write_text(f"http://a/\tfine\n{line}\n", "utf-8")
    with pytest.raises(StrategyError, match=r"descriptions\.tsv:2: expected a URL, a tab and its description"):
        bind_hati(f"hati:descriptions={path}")


def test_a_search_engine_description_replaces_the_link_texts() -> None:
    strategy = create_strategy("hati")
    assert isinstance(strategy, Hati)
    strategy.bind(StrategyContext(TOPIC, Vsm(TOPIC), Random(0), {"http://b/": "Dengue fever: dengue, mosquito"}.get))
    strategy.fit(SampleTrainingData())
    described, other = (parts(strategy, Link(url, anchor="here"), visit()) for url in ("http://b/", "http://c/"))
    assert described["description"] > 0.8
    assert other["description"] == 0.0


def test_a_later_description_changes_only_the_description_attribute() -> None:
    strategy = bind_hati()
    (place,) = strategy.score_links([Link("http://b/", anchor="dengue")], visit("dengue fever"))
    assert place is not None
    better = strategy.rescore_with_description(place, "dengue fever mosquito")
    before, after = dict(place.parts), dict(better.parts)
    assert after.pop("description") > before.pop("description")
    assert after == pytest.approx(before, abs=1e-5)
    assert better.score > place.score
    assert strategy.rescore_with_description(Priority(1.0), "dengue") == Priority(1.0)  # a seed
