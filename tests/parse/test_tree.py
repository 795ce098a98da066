"""The tree of any source has a bounded number of nodes."""

from __future__ import annotations

import pytest

from topicrawl.parse.tree import MAX_REPEATED_NODES, bound_repetition, build_tree

FORMATTING = ["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]


def open_elements(name: str, count: int = 600) -> str:
    return "".join(f"<{name} id={number}>" for number in range(count))


def count_nodes(source: str) -> int:
    return sum(1 for _ in build_tree(source).descendants)


SOURCES = {
    **{f"<{name}> in paragraphs": f"<p>{open_elements(name)}" + "<p>x" * 5000 for name in (*FORMATTING, "a")},
    **{
        f"<b> in {block}": f"<{block}>{open_elements('b')}</{block}>" + f"<{block}>x</{block}>" * 5000
        for block in ("div", "h1", "li", "dd", "center", "section", "blockquote")
    },
    "upper case": f"<P>{open_elements('FONT')}" + "<P>x" * 5000,
    "mixed case and line breaks": "<p>" + "".join(f"<fOnT\nid={n}>" for n in range(600)) + "<p>x" * 5000,
    "self-closing tags": "<p>" + "".join(f"<b/id={n}>" for n in range(600)) + "<p>x" * 5000,
    "a tag that appears if another is removed": "<p>" + "".join(f"<<b>b id={n}>" for n in range(600)) + "<p>x" * 5000,
    "misplaced text in a table": f"<table>{open_elements('b')}" + "<tr>x" * 5000,
    "cells": f"<table><tr><td>{open_elements('b')}" + "<p>x" * 5000,
    "one more element in each paragraph": "<p>" + "".join(f"<b id={n}><p>x" for n in range(5000)),
    "end tags without effect": "<p>" + "".join(f"<b id={n}><object></b></object>" for n in range(600)) + "<p>x" * 5000,
    "markers": f"<p>{open_elements('b')}" + "<p>x<object></object>" * 5000,
    "selects": f"<p>{open_elements('b')}" + "<p><select><option>x</select>" * 5000,
    "buttons": f"<p>{open_elements('b')}" + "<p><button>x" * 5000,
    "end tags of other elements": f"<p>{open_elements('b')}" + "<div>x</b>" * 5000,
    "drawings": f"<svg><foreignObject><p>{open_elements('b')}" + "<p>x" * 5000,
    "templates": f"<template><p>{open_elements('b')}" + "<p>x" * 5000,
}


@pytest.mark.parametrize("name", SOURCES)
def test_repeated_elements_are_bounded(name: str) -> None:
    assert count_nodes(SOURCES[name]) < MAX_REPEATED_NODES


def test_short_pages_stay_below_the_bound_without_a_change() -> None:
    source = f"<p>{open_elements('b', 511)}" + "<p>x" * 1400
    assert bound_repetition(source) is source
    assert count_nodes(source) < MAX_REPEATED_NODES


@pytest.mark.parametrize("name", FORMATTING)
@pytest.mark.parametrize("end", [">", " x>", "\n>", "\t>", "/>"])
def test_all_spellings_of_formatting_elements_are_bounded(name: str, end: str) -> None:
    for tag in (name, name.upper()):
        source = "<p>" + f"<{tag}{end}" * 500 + "<p>x" * 3000 + f"</{tag}>"
        changed = bound_repetition(source)
        assert changed.startswith("<p><span")
        assert changed.endswith("</span>")
        assert changed == source.replace(f"<{tag}", "<span").replace(f"</{tag}", "</span")


def test_text_and_links_of_a_changed_page_stay() -> None:
    source = f"<p>{open_elements('font')}One <a href=/x>link</a><b>s</b>.</font>" + "<p>word" * 3000
    assert bound_repetition(source) != source
    tree = build_tree(source)
    assert [element.attr("href") for element in tree.find_all("a")] == ["/x"]
    assert " ".join("".join(tree.strings).split()).startswith("One links.word")


@pytest.mark.parametrize("name", ["body", "HTML"])
def test_attributes_of_repeated_root_tags_are_bounded(name: str) -> None:
    source = "".join(f"<{name} a{number}=1>" for number in range(20_000)) + "<p>x"
    tree = build_tree(source)
    assert tree.root is not None
    body = tree.find("body")
    assert body is not None
    assert len(tree.root.attrs) + len(body.attrs) < 10
    assert body.text.strip() == "x"
