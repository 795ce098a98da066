"""Tasks from phrases: targets from annotations, scores or labels, and seeds of the user, of the crawl or selected."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.helpers.crawl_directory import crawl_tree, is_on_topic
from tests.helpers.sample_web import write_small_web

from topicrawl.collection.annotations import REVIEWER_ORIGIN, AnnotationLabel, annotate
from topicrawl.collection.store import CollectionStore
from topicrawl.errors import UsageError
from topicrawl.lab.compare import Comparison, ComparisonConfig, plan_comparison
from topicrawl.lab.phrase_tasks import PhraseOptions, TargetSource

PAGES = 40


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A crawl without annotations and the address of its site."""
    directory = tmp_path_factory.mktemp("crawl") / "dengue"
    return directory, crawl_tree(directory, PAGES, "/old")


@pytest.fixture
def reviewed(crawled: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
    """A copy of the crawl for annotations."""
    return shutil.copytree(crawled[0], tmp_path / "dengue"), crawled[1]


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded web with labels."""
    directory = tmp_path_factory.mktemp("web") / "sample"
    write_small_web(directory)
    return directory


def plan(path: Path, options: PhraseOptions | None = None) -> Comparison:
    return plan_comparison(ComparisonConfig([path], ["best_first"], fetches=30, examples=2, phrases=options))


def mark(directory: Path, address: str, numbers: list[int], origin: str = "review") -> None:
    store = CollectionStore(directory / "topicrawl.sqlite")
    annotate(store, [f"{address}/{number}" for number in numbers], AnnotationLabel.RELEVANT, origin=origin, at=1.0)
    store.close()


def list_known_targets(comparison: Comparison) -> set[int]:
    """Return the targets and the relevant examples, which are drawn from them."""
    (task,) = comparison.tasks
    return {int(url.rpartition("/")[2]) for url in (*task.targets, *task.relevant)}


def test_a_crawl_without_options_is_a_task_with_its_own_topic_and_seeds(crawled: tuple[Path, str]) -> None:
    directory, address = crawled
    comparison = plan(directory)
    (task,) = comparison.tasks
    assert (task.task.words, task.task.topic, task.task.seeds) == ("dengue fever", "dengue fever", (f"{address}/0",))
    assert list_known_targets(comparison) == {number for number in range(PAGES) if is_on_topic(number)}
    assert task.task.back == 1, "page 1 is on the topic"
    assert {is_on_topic(int(url.rpartition("/")[2])) for url in task.irrelevant} == {False}
    assert task.task.languages == ("en",)
    (note,) = comparison.notes
    assert "13 pages that the crawl, not a person, found relevant to 'dengue fever'" in note


def test_each_phrase_is_a_task_of_its_own_group(crawled: tuple[Path, str]) -> None:
    comparison = plan(crawled[0], PhraseOptions(["mosquito  fever", "dengue", "dengue"]))
    assert [task.task.words for task in comparison.tasks] == ["mosquito fever", "dengue"]
    assert len({task.group for task in comparison.tasks}) == 2
    assert comparison.tasks[0].targets


def test_enough_marked_pages_are_the_only_targets(reviewed: tuple[Path, str]) -> None:
    directory, address = reviewed
    mark(directory, address, list(range(10, 19)))
    assert set(range(10, 19)) != list_known_targets(plan(directory)), "nine pages are too few"
    assert list_known_targets(plan(directory, PhraseOptions(targets=TargetSource.REVIEWED))) == set(range(10, 19))
    mark(directory, address, [19])
    comparison = plan(directory)
    assert list_known_targets(comparison) == set(range(10, 20))
    assert comparison.notes == ["The targets are 10 pages that you marked as relevant to 'dengue fever'."]
    scored = plan(directory, PhraseOptions(targets=TargetSource.SCORED))
    assert list_known_targets(scored) == {n for n in range(PAGES) if is_on_topic(n) or 10 <= n < 20}
    assert "corrected by the annotations of 10 pages" in scored.notes[0]


def test_verdicts_of_a_language_model_are_not_marks_of_a_person(reviewed: tuple[Path, str]) -> None:
    directory, address = reviewed
    mark(directory, address, list(range(10, 20)), REVIEWER_ORIGIN)
    assert "not a person" in plan(directory).notes[0]
    with pytest.raises(UsageError, match="no page of the crawl is marked as relevant"):
        plan(directory, PhraseOptions(targets=TargetSource.REVIEWED))


def test_seeds_of_the_user_may_redirect(crawled: tuple[Path, str]) -> None:
    directory, address = crawled
    (task,) = plan(directory, PhraseOptions(seeds=[f"{address}/old", f"{address}/2"])).tasks
    assert task.task.seeds == (f"{address}/0", f"{address}/2")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (PhraseOptions(seeds=["http://elsewhere.example/"]), "the seed http://elsewhere.example/ is not a page"),
        (PhraseOptions(seeds=["mailto:me"]), "the seed 'mailto:me' is not a URL"),
        (PhraseOptions(["  "]), "a phrase is empty"),
    ],
)
def test_invalid_phrases_and_seeds_are_rejected(crawled: tuple[Path, str], options: PhraseOptions, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan(crawled[0], options)


def test_seed_sets_add_tasks_with_selected_seeds(crawled: tuple[Path, str], labelled: Path) -> None:
    comparison = plan(crawled[0], PhraseOptions(seed_sets=1))
    assert comparison.tasks[0].task.seeds == (f"{crawled[1]}/0",)
    # The site is a tree, so that few pages reach targets, and not every distance has seeds.
    assert len(comparison.tasks) + len(comparison.skipped) >= 2
    sets = plan(labelled, PhraseOptions(["chess"], seed_sets=3)).tasks
    assert [task.task.back for task in sets] == [0, 0, 0, 2, 2, 2]
    assert len({task.group for task in sets}) == 6, "the tasks of one topic are drawn one by one"


def test_a_phrase_is_the_name_of_a_topic_on_a_web_with_labels(labelled: Path) -> None:
    comparison = plan(labelled, PhraseOptions(["Chess", "malaria"]))
    assert {task.task.labels for task in comparison.tasks} == {("chess",), ("malaria",)}
    assert {task.task.words for task in comparison.tasks} == {"Chess", "malaria"}
    assert len({task.group for task in comparison.tasks}) == 2, "tasks of one topic are drawn together"
    assert not comparison.notes
    with pytest.raises(UsageError, match="no topic or label is named 'ches'; similar names: chess"):
        plan(labelled, PhraseOptions(["ches"]))
    with pytest.raises(UsageError, match="is not a crawl: type the topic with --phrase"):
        plan(labelled, PhraseOptions(seed_sets=1))


def test_a_recording_without_labels_and_crawl_is_rejected(labelled: Path, tmp_path: Path) -> None:
    shutil.copy(labelled / "pages.warc.gz", tmp_path)
    with pytest.raises(UsageError, match="its relevant pages are unknown"):
        plan(tmp_path, PhraseOptions(["chess"]))
