"""Traps, spam farms and mirrors take a small share of a live crawl, and honest webs are not demoted."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.helpers.markers import LONG

from trap_webs import DEAD_LINKS, HONEST, MIRRORS, ROOT_SUGGESTIONS, SPAM, TRAPS, TrapWeb
from traps import TrapResult, run_crawl

BUDGET = 500


def crawl_web(web: TrapWeb, directory: Path, strategy: str = "apprentice") -> TrapResult:
    result = asyncio.run(run_crawl(web, directory / "crawl", budget=BUDGET, strategy=strategy))
    assert result.fetches == BUDGET
    return result


@LONG
@pytest.mark.parametrize("web", TRAPS, ids=lambda web: web.name)
def test_a_trap_takes_at_most_a_twentieth_of_the_fetches(web: TrapWeb, tmp_path: Path) -> None:
    assert 0 < crawl_web(web, tmp_path).inside <= BUDGET / 20


@LONG
def test_error_pages_take_no_more_fetches_than_dead_links(tmp_path: Path) -> None:
    errors, dead = (crawl_web(web, tmp_path / web.name) for web in (ROOT_SUGGESTIONS, DEAD_LINKS))
    assert errors.found_inside <= BUDGET / 50
    assert 0 < errors.inside <= 1.1 * dead.inside


@LONG
@pytest.mark.parametrize("strategy", ["apprentice", "breadth_first"])
def test_a_spam_farm_takes_at_most_a_tenth_of_the_fetches(strategy: str, tmp_path: Path) -> None:
    assert 0 < crawl_web(SPAM, tmp_path, strategy).inside <= BUDGET / 10


@LONG
def test_mirrors_repeat_at_most_a_tenth_of_the_fetches(tmp_path: Path) -> None:
    result = crawl_web(MIRRORS, tmp_path)
    assert 0 < result.repeated <= BUDGET / 10
    # There are sixty different articles. Some of their links may still wait at the end.
    assert 40 < result.inside - result.repeated <= 60


@LONG
@pytest.mark.parametrize("web", HONEST, ids=lambda web: web.name)
def test_an_honest_web_is_not_demoted(web: TrapWeb, tmp_path: Path) -> None:
    result = crawl_web(web, tmp_path)
    # The host takes turns with the two hosts of the articles.
    assert result.inside > BUDGET / 5
    assert result.demoted == result.repeated == 0
