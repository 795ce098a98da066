"""Hati's crawler: the tables of Hati et al. 2010, and what it reads off pages."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from topicrawl.errors import StrategyError
from topicrawl.records import Link, Page, Place, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import make
from topicrawl.strategies.guides import Guide
from topicrawl.strategies.hati import Hati
from topicrawl.strategies.strategy import Setting
from topicrawl.text.tokens import words
from topicrawl.topic import Topic

from .material import Made

TOPIC = Topic.of("dengue fever mosquito")
#: Tables 3, 6, 4 (of ten keywords) and 7: the seven seeds of the paper, five relevant, two not.
SCORES = [
    (0.694802718, 0.93615100, 7 / 10, 0.9), (0.797621566, 0.81948239, 7 / 10, 0.9),
    (0.648112149, 0.791265451, 7 / 10, 0.7), (0.828339066, 0.953638167, 5 / 10, 0.5),
    (0.712560398, 0.954884907, 3 / 10, 0.7), (0.1854898548, 0.685672724, 7 / 10, 0.4),
    (0.532127555, 0.817865479, 3 / 10, 0.7),
]  # fmt: skip
TABLE_8 = ["NYYY", "YYYY", "NNYY", "YYNN", "YYNY", "NNYN", "NYNY"]
LABELS = [True] * 5 + [False] * 2


def begun(spec: str = "hati", *, topic: Topic = TOPIC) -> Hati:
    strategy = make(spec)
    assert isinstance(strategy, Hati)
    strategy.begin(Setting(topic, Vsm(topic), Random(0)))
    strategy.prepare(Made())
    return strategy


def values(row: str) -> tuple[float, ...]:
    return tuple(1.0 if letter == "Y" else 0.0 for letter in row)


def visit(text: str = "", url: str = "http://a/") -> Visit:
    return Visit(1, Link(url), Place(1.0), url, Page(url, text=text, words=tuple(words(text))), 0.5)


def parts(strategy: Hati, link: Link, at: Visit) -> dict[str, float]:
    (place,) = strategy.place([link], at)
    assert place is not None
    return dict(place.parts)


def test_the_limits_give_every_yes_and_no_of_table_8() -> None:
    limits = Hati().thresholds()
    for scores, row in zip(SCORES, TABLE_8, strict=True):
        assert tuple(float(score > limit) for score, limit in zip(scores, limits, strict=True)) == values(row)


@pytest.mark.parametrize(
    ("row", "smoothing", "posterior"),
    [
        ("NYNY", False, 256 / 381),  # the attributes that the paper names
        ("NYYY", False, 384 / 509),  # those it multiplies
        ("NYNY", True, 0.6665740869),
        ("NYYN", True, 0.5160),
        ("NNYY", True, 0.5160),
    ],
)
def test_the_worked_example_from_the_scores_of_the_tables(row: str, smoothing: bool, posterior: float) -> None:
    strategy = Hati(smoothing=smoothing)
    strategy.begin(Setting(TOPIC, Vsm(TOPIC), Random(0)))
    guide = Guide.fit(strategy.recipe, SCORES, LABELS)
    assert guide.predict(values(row)) == pytest.approx(posterior, abs=5e-5)


def test_parents_count_with_their_mean() -> None:
    strategy = begun()
    link = Link("http://b/x", "http://a/")
    on, off = visit("dengue fever mosquito dengue fever"), visit("railway", "http://c/")
    (first,), (second,) = strategy.place([link], on), strategy.place([link], off)
    assert first is not None
    assert second is not None
    both = dict(strategy.combine(first, second).parts)["parents"]
    assert both == pytest.approx(dict(first.parts)["parents"] / 2, abs=1e-6)
    assert dict(second.parts)["parents"] == 0


def test_the_sixth_page_has_no_say() -> None:
    strategy = begun()
    link = Link("http://b/x", "http://a/")
    (place,) = strategy.place([link], visit("railway"))
    (other,) = strategy.place([link], visit("dengue fever mosquito"))
    assert place is not None
    assert other is not None
    for _ in range(4):
        place = strategy.combine(place, place)
    assert strategy.combine(place, other) == place


def test_cohesive_text_is_the_share_of_the_keywords_in_the_sentences_around_a_link() -> None:
    strategy = begun("hati:k=3")
    text = "A fever comes. It is high. See this page. The mosquito bites. Dengue."
    near = parts(strategy, Link("http://b/x", "http://a/", "page", sentence="See this page."), visit(text))
    assert near["cohesive"] == pytest.approx(2 / 3)  # the mosquito behind, and the fever that "It" leans on
    lean = parts(strategy, Link("http://b/x", "http://a/", "high", sentence="It is high."), visit(text))
    assert lean["cohesive"] == pytest.approx(1 / 3)  # the fever before


def test_anchors_count_through_related_words() -> None:
    with_them, without = begun(), begun("hati:wordnet=no")
    # In WordNet a fever is a symptom.
    link = Link("http://b/x", anchor="symptom")
    assert parts(with_them, link, visit())["anchor"] > parts(without, link, visit())["anchor"] == 0


def test_a_description_from_the_file_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "descriptions.tsv"
    path.write_text("# url, tab, text\nhttp://b/x\tDengue fever,\nhttp://b/x\tby the mosquito\n", "utf-8")
    strategy = begun(f"hati:descriptions={path}")
    described = parts(strategy, Link("http://b/x", anchor="locomotive"), visit())
    other = parts(strategy, Link("http://b/y", anchor="locomotive"), visit())
    assert described["description"] > 0.5
    assert other["description"] == 0


def test_without_a_description_those_who_link_to_a_url_describe_it() -> None:
    strategy = begun()
    told = parts(strategy, Link("http://b/mosquito", anchor="dengue", before=("high",), after=("fever",)), visit())
    assert told["description"] > 0.5
    assert parts(strategy, Link("http://b/x", anchor="imprint"), visit())["description"] == 0


def test_nothing_is_pruned_and_the_likelier_link_comes_first() -> None:
    strategy = begun("hati:tune=yes")
    text = "Dengue fever is spread by the mosquito. The virus of dengue. The fever starts."
    on = Link("http://made/dengue/11", "http://a/", "dengue fever", before=("dengue",), after=("fever",))
    off = Link("http://b/imprint", "http://a/", "imprint")
    better, worse = strategy.place([on, off], visit(text))
    assert better is not None
    assert worse is not None
    assert better.score >= worse.score > 0


@pytest.mark.parametrize("line", ["http://b/x no tab", "not a url\ttext", "\ttext"])
def test_a_mistake_in_the_descriptions_is_told_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "descriptions.tsv"
    path.write_text(f"http://a/\tfine\n{line}\n", "utf-8")
    with pytest.raises(StrategyError, match=r"descriptions\.tsv:2: expected a URL, a tab and its description"):
        begun(f"hati:descriptions={path}")


def test_what_an_engine_says_of_a_url_counts_instead_of_what_links_say() -> None:
    strategy = make("hati")
    assert isinstance(strategy, Hati)
    strategy.begin(Setting(TOPIC, Vsm(TOPIC), Random(0), {"http://b/": "Dengue fever: dengue, mosquito"}.get))
    strategy.prepare(Made())
    told, untold = (parts(strategy, Link(url, anchor="here"), visit()) for url in ("http://b/", "http://c/"))
    assert told["description"] > 0.8
    assert untold["description"] == 0.0


def test_a_description_that_comes_later_changes_the_place_and_nothing_else_of_the_link() -> None:
    strategy = begun()
    (place,) = strategy.place([Link("http://b/", anchor="dengue")], visit("dengue fever"))
    assert place is not None
    better = strategy.described(place, "dengue fever mosquito")
    before, after = dict(place.parts), dict(better.parts)
    assert after.pop("description") > before.pop("description")
    assert after == pytest.approx(before, abs=1e-5)
    assert better.score > place.score
    assert strategy.described(Place(1.0), "dengue") == Place(1.0)  # a seed
