"""Spelling variants: rules are confirmed by redirects and duplicates, contradicted by different pages, and saved."""

from __future__ import annotations

import pytest

from topicrawl.strategies.apprentice.url_variants import UrlVariants


def learn_pairs(variants: UrlVariants, *pairs: tuple[str, str]) -> None:
    for requested, page in pairs:
        variants.add_page(requested, page)


@pytest.mark.parametrize(
    ("pairs", "unknown", "known_page"),
    [
        (
            [("http://a/b/index.html", "http://a/b/"), ("http://a/c/index.html", "http://a/c/")],
            "http://a/d",
            "http://a/d/",
        ),
        ([("http://a/b", "https://www.a/b"), ("http://a/c", "https://www.a/c")], "http://a/d", "https://www.a/d"),
        (
            [("http://a/OWLS", "http://a/Owl"), ("http://a/Bats", "http://a/Bat")],
            "http://a/red%20fox",
            "http://a/Red_fox",
        ),
        ([("http://a/b?v=1", "http://a/b"), ("http://a/c;s=2", "http://a/c")], "http://a/d?v=9", "http://a/d"),
    ],
)
def test_confirmed_rules_predict_known_pages(pairs: list[tuple[str, str]], unknown: str, known_page: str) -> None:
    variants = UrlVariants()
    variants.add_page(known_page, known_page)
    assert not variants.is_known_page(unknown)
    learn_pairs(variants, *pairs)
    assert variants.is_known_page(unknown)
    assert not variants.is_known_page("http://a/another/page")


def test_one_redirect_confirms_nothing() -> None:
    variants = UrlVariants()
    learn_pairs(variants, ("http://a/owls", "http://a/owl"), ("http://a/bat", "http://a/bat"))
    assert not variants.is_known_page("http://a/bats")


def test_rules_of_one_host_do_not_hold_on_another() -> None:
    variants = UrlVariants()
    learn_pairs(variants, ("http://a/owls", "http://a/owl"), ("http://a/bats", "http://a/bat"))
    variants.add_page("http://b/fox", "http://b/fox")
    assert not variants.is_known_page("http://b/foxs")


def test_different_pages_with_the_same_key_contradict_a_rule() -> None:
    variants = UrlVariants()
    learn_pairs(variants, ("http://a/x?sort=1", "http://a/x"), ("http://a/y?sort=1", "http://a/y"))
    assert variants.is_known_page("http://a/x?page=2")
    learn_pairs(variants, *((url, url) for url in (f"http://a/x?page={number}" for number in range(5))))
    assert not variants.is_known_page("http://a/x?page=9")


def test_rules_are_part_of_the_state() -> None:
    variants, restored = UrlVariants(), UrlVariants()
    learn_pairs(variants, ("http://a/owls", "http://a/owl"), ("http://a/bats", "http://a/bat"))
    restored.restore_state(variants.get_state())
    assert restored.get_state() == variants.get_state()
    assert restored.is_known_page("http://a/Owl.html")
