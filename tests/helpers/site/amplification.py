"""Pages that are small or simple to send and costly to process: nodes, memory or time grow faster than the page.

Every page has a title and a sentence of its own, so that no page is a duplicate of another.
"""

from __future__ import annotations

from collections.abc import Callable

MEGABYTE = 1_000_000


def number(template: str, count: int) -> str:
    """Return the template `count` times, with the numbers from 0 in the place of `#`."""
    return "".join(template.replace("#", str(index)) for index in range(count))


def open_in_paragraph(name: str) -> str:
    """Return 1,000 elements that are opened in a paragraph and never closed, and 60,000 further paragraphs."""
    return f"<p>{number(f'<{name} id=#>', 1000)}" + "<p>x" * 60_000


def open_in(block: str) -> str:
    """Return 1,000 `<b>` elements that are opened in a block, and 30,000 further blocks."""
    return f"<{block}>{number('<b id=#>', 1000)}</{block}>" + f"<{block}>x</{block}>" * 30_000


#: Name → source of a page that makes the parser create nodes again and again.
REPEATED: dict[str, Callable[[], str]] = {
    "fonts before paragraphs": lambda: number("<font size=#>", 1000) + "<p>x" * 60_000,
    **{
        f"{name} in paragraphs": lambda name=name: open_in_paragraph(name)  # type: ignore[misc]
        for name in ("font", "b", "i", "u", "s", "tt", "em", "code", "big", "small", "strong", "strike", "nobr", "a")
    },
    **{
        f"formatting in {block}": lambda block=block: open_in(block)  # type: ignore[misc]
        for block in ("div", "h1", "li", "dd", "section", "center", "address")
    },
    "formatting in capitals": lambda: open_in_paragraph("FONT").replace("<p>", "<P>"),
    "formatting with long attributes": lambda: (
        "<p>" + number("<b id=# title=" + "y" * 900 + ">", 1000) + "<p>x" * 60_000
    ),
    "more formatting in each paragraph": lambda: "<p>" + number("<b id=#><p>x", 30_000),
    "formatting that an end tag does not close": lambda: (
        "<p>" + number("<b id=#><object></b></object>", 1000) + "<p>x" * 60_000
    ),
    "formatting hidden in tags": lambda: "<p>" + number("<<b>b id=#>", 1000) + "<p>x" * 60_000,
    "formatting around markers": lambda: f"<p>{number('<b id=#>', 1000)}" + "<p>x<object></object>" * 20_000,
    "formatting before selects": lambda: f"<p>{number('<b id=#>', 1000)}" + "<p><select><option>x</select>" * 20_000,
    "formatting before buttons": lambda: f"<p>{number('<b id=#>', 1000)}" + "<p><button>x" * 20_000,
    "formatting before templates": lambda: f"<p>{number('<b id=#>', 1000)}" + "<p>x<template><p>y</template>" * 20_000,
    "misplaced rows": lambda: f"<table>{number('<b id=#>', 1000)}" + "<tr>x" * 60_000,
    "misplaced cells": lambda: f"<table><tr><td>{number('<b id=#>', 1000)}" + "<p>x" * 60_000,
    "misnested blocks": lambda: f"<p>{number('<b id=#>', 1000)}" + "<div>x</b>" * 30_000,
    "misnested links": lambda: number("<i id=#>", 1000) + "<a href=/x><div>" * 30_000,
    "attributes of many bodies": lambda: number("<body a#=1>", 100_000),
    "attributes of many roots": lambda: number("<html a#=1>", 100_000),
    "one body of many attributes": lambda: "<body " + number("a# ", 100_000) + ">" + number("<BODY b#>", 50_000),
    "formatting in a drawing": lambda: f"<svg><foreignObject><p>{number('<b id=#>', 1000)}" + "<p>x" * 60_000,
    "formatting in UTF-16": lambda: "\ufeff" + open_in_paragraph("font"),
}

#: Name → source of a page whose size or form is extreme.
EXTREME: dict[str, Callable[[], str]] = {
    "elements in elements": lambda: "<div>" * 800_000 + "x",
    "inline elements in inline elements": lambda: "<span>" * 600_000 + "x",
    "tables in tables": lambda: "<table><tr><td>" * 200_000 + "x",
    "lists in lists": lambda: "<ul><li>" * 300_000 + "x",
    "drawings in drawings": lambda: "<svg><g>" * 300_000 + "<math><mtext>" * 50_000,
    "templates in templates": lambda: "<template>" * 300_000 + "x",
    "selects in selects": lambda: "<select><optgroup><option>" * 150_000,
    "paragraphs without text": lambda: "<p>" * 1_300_000,
    "half a million links": lambda: number("<a href=/#>x ", 500_000),
    "links of equal text": lambda: number("<a href=/#>dengue fever</a> and ", 150_000),
    "links of long addresses": lambda: number(f"<a href='/{'x' * 1900}/#'>x</a> ", 2000),
    "one link of many images": lambda: "<a href=/x>" + "<img alt='dengue fever'>" * 150_000,
    "a tag of a million attributes": lambda: "<a " + number("a# ", 1_000_000) + "href=/x>y</a>",
    "an attribute of five megabytes": lambda: f"<a href='/x' title='{'y' * 5 * MEGABYTE}'>z</a>",
    "a style of five megabytes": lambda: f"<p style='{'color:red;' * 500_000}'>x",
    "styles of blanks": lambda: number(f"<p style='filter:opacity({' ' * 9000};transform:scale({' ' * 900}#'>x", 200),
    "many inline styles": lambda: number("<p style='color:#########;display:none'>x", 80_000),
    "style rules for every element": lambda: (
        f"<style>{number('p.c# {color:red}', 20_000)}</style>" + "<p class=c1>x" * 80_000
    ),
    "style rules in style rules": lambda: "<style>" + "@media screen {" * 100_000 + "</style><p>x",
    "an open style": lambda: "<p>x<style>" + "/*" * 2 * MEGABYTE,
    "a line of five megabytes": lambda: "dengue fever is spread by mosquitoes. " * 130_000,
    "a million words": lambda: "dengue " * 1_000_000,
    "a million different words": lambda: number("w# ", 1_000_000),
    "a word of five megabytes": lambda: "x" * 5 * MEGABYTE,
    "text without spaces": lambda: "登革热是一种病毒" * 200_000,
    "marks on one letter": lambda: "a" + "\u0301" * 2 * MEGABYTE,
    "only stops": lambda: ". " * 2 * MEGABYTE,
    "only initials": lambda: "A. B. C! " * 500_000,
    "only hyphens": lambda: "a-" * 2 * MEGABYTE,
    "only apostrophes": lambda: "a'" * 2 * MEGABYTE,
    "only digits": lambda: "1.2," * 1_000_000,
    "only blanks": lambda: " \n\t" * 1_500_000 + "x",
    "only line breaks": lambda: "<br>" * 1_000_000,
    "only brackets": lambda: "<" * 4 * MEGABYTE,
    "only ampersands": lambda: "&" * 4 * MEGABYTE,
    "only references": lambda: "&NotGreaterFullEqual;" * 200_000,
    "references without an end": lambda: "&#" + "9" * 3 * MEGABYTE,
    "open comments": lambda: "<!--" * 1_000_000,
    "dashes in comments": lambda: "<!--" + "--!" * 1_000_000,
    "open tags": lambda: "<a href='" * 400_000,
    "reserved characters": lambda: "\ue000x\ue001 " * 500_000,
    "headings": lambda: number("<h1>dengue fever #</h1><a href=/#>z</a>", 100_000),
    "a title of a megabyte": lambda: f"</title><title>{'dengue fever ' * 80_000}",
    "refreshes": lambda: number("<meta http-equiv=refresh content='99;url=/#'>", 60_000),
    "robots directives": lambda: f"<meta name=robots content='{'x,' * 500_000}'>" * 4,
    "frames": lambda: "<frameset>" * 100_000 + number("<frame src=/#>", 100_000),
    "hidden parts in hidden parts": lambda: "<div hidden>x" * 300_000,
    "nothing but zeros": lambda: "\0" * 3 * MEGABYTE,
}
#: Name → plain text with an extreme form.
PLAIN: dict[str, Callable[[], str]] = {
    "a text of addresses": lambda: number("http://e.example/# ", 200_000),
    "a text of one address": lambda: "http://e.example/" + "x" * 4 * MEGABYTE,
    "a text of brackets": lambda: "http://e.example/" + "()" * 2 * MEGABYTE,
    "a text of empty lines": lambda: "\n \n" * 1_500_000 + "x",
}
#: Large pages with nearly the same text, which the detection of duplicates compares.
COPIES = {
    f"large copy {letter}": lambda letter=letter: f"<p>{letter * 9}" + number("<p>dengue fever # is one", 120_000)  # type: ignore[misc]
    for letter in "abcd"
}


SOURCES = {**REPEATED, **EXTREME, **COPIES, **PLAIN}


def build_page(name: str) -> tuple[bytes, str]:
    """Return the body and the media type of a page."""
    source = SOURCES[name]()
    if name in PLAIN:
        return f"{name}, about dengue fever\n\n{source}".encode(), "text/plain; charset=utf-8"
    start = f"<title>{name}</title><p>Page of {name}, about dengue fever.\n"
    if source.startswith("\ufeff"):
        return f"\ufeff{start}{source[1:]}".encode("utf-16-le"), "text/html"
    return (start + source).encode(), "text/html; charset=utf-8"
