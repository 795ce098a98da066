"""Show the text of web components: turn the shadow roots of a document into ordinary elements."""

from __future__ import annotations

import re

_START = re.compile(
    r"<(?:(/?)template(?=[\s/>])|(script|style|textarea|title|xmp|iframe|noembed|noframes)(?=[\s/>])|!--)"
)
_SHADOW_ROOT = re.compile(r"\sshadowrootmode=")


def flatten_shadow_roots(html: str) -> str:
    """Return HTML of a browser with `<div>` in place of the `<template>` of each shadow root. The time is linear.

    Parsers ignore the content of a template, and a browser writes shadow roots in this form.

    >>> flatten_shadow_roots('<x-a><template shadowrootmode="open"><p>Text<template>1</template></template></x-a>')
    '<x-a><div><p>Text<template>1</template></div></x-a>'
    """
    if "shadowrootmode=" not in html:
        return html
    parts: list[str] = []
    is_root: list[bool] = []  # for each open template
    position = 0
    while (found := _START.search(html, position)) is not None:
        parts.append(html[position : found.start()])
        if found[1] is None:  # a comment or an element that contains only text
            end = html.find(f"</{found[2]}" if found[2] else "-->", found.end())
            position = len(html) if end < 0 else end + 2
            parts.append(html[found.start() : position])
            continue
        end = html.find(">", found.end())
        position = len(html) if end < 0 else end + 1
        tag = html[found.start() : position]
        if not found[1]:
            is_root.append(_SHADOW_ROOT.search(tag) is not None)
            parts.append("<div>" if is_root[-1] else tag)
        else:
            parts.append("</div>" if is_root and is_root.pop() else tag)
    return "".join((*parts, html[position:]))
