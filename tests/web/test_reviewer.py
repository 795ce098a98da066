"""Verdicts of the language-model reviewer in the web application: shown as text, and left for users to review."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.web_client import EVIL, PAGES, crawl_hostile_site, serve_collections

from topicrawl.collection.annotations import AnnotationLabel, find_annotation
from topicrawl.collection.reviewer_log import CallPrices, CallResult, ReviewerLog
from topicrawl.collection.store import CollectionStore


def add_verdicts(directory: Path, urls: list[str]) -> None:
    """Add verdicts as a crawl with a reviewer does."""
    store = CollectionStore(directory / "topicrawl.sqlite")
    reviewer_log = ReviewerLog(store, limit=100, prices=CallPrices())
    for url in urls:
        number = reviewer_log.begin_call(url, "test-model", at=1.0)
        result = CallResult(AnnotationLabel.IRRELEVANT, 0.8, f"steam {EVIL}", 700, 30, 1.0)
        assert reviewer_log.finish_call(number, url, result, at=2.0)
    store.close()


def test_a_user_sees_the_verdicts_and_can_overrule_them(tmp_path: Path) -> None:
    directory = tmp_path / "owls"
    site = crawl_hostile_site(directory)
    url = f"{site}/owls/1"
    add_verdicts(directory, [url])
    with serve_collections([tmp_path]) as client:
        page = client.get("/c/owls/page", url=url).text
        assert "The reviewer (test-model) finds this page <b>not relevant</b>, with confidence 0.80: steam" in page
        assert EVIL not in page
        assert 'aria-pressed="true"' not in page
        assert "not relevant (reviewer)" in client.get("/c/owls/pages").text
        assert client.post("/c/owls/verdict", url=url, verdict="relevant", back="review").status == 303
        page = client.get("/c/owls/page", url=url).text
        assert 'value="relevant" data-key="y" aria-pressed="true"' in page
        assert "finds this page <b>not relevant</b>" in page
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    annotation = find_annotation(store, url)
    store.close()
    assert annotation is not None
    assert (annotation.label, annotation.origin) == (AnnotationLabel.RELEVANT, "read")


def test_the_review_queue_and_the_undo_button_ignore_the_reviewer(tmp_path: Path) -> None:
    directory = tmp_path / "owls"
    site = crawl_hostile_site(directory)
    with serve_collections([tmp_path]) as client:
        before = client.get("/c/owls/review").text
        add_verdicts(directory, [f"{site}/owls/{number}" for number in range(1, PAGES - 1)])
        after = client.get("/c/owls/review").text
    line = next(line for line in before.splitlines() if "to review" in line)
    assert '<span data-count="reviewed">0</span> reviewed' in line
    assert line in after
    assert 'id="undo" hidden' in after
