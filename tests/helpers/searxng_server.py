"""Fake SearXNG server with recorded answers of three engines. The pages are fictitious."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs, urlsplit

PLACE = "https://{}.example/"

#: query → engine → its results, best first
ANSWERS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "dengue fever": {
        "google": ("who", "cdc", "news", "clinic"),
        "yahoo": ("cdc", "who", "clinic", "shop"),
        "msn": ("who", "blog", "cdc"),
    },
    "-dengue fever": {
        "google": ("faces", "cars", "who"),
        "yahoo": ("cars", "faces"),
        "msn": ("cars", "cooking"),
    },
}
ENGINES = tuple(ANSWERS["dengue fever"])


def page(name: str, engines: Sequence[str]) -> dict[str, object]:
    """Return one result row."""
    snippet = f"What {name} says of <b>dengue</b> &amp; fever."
    return {"url": PLACE.format(name), "title": name.title(), "content": snippet, "engines": list(engines)}


def searx(path: str, silent: Mapping[str, str] | None = None, size: int = 2) -> bytes | None:
    """Return the body for a path, with `size` results per page, or None for 404. `silent`: engine → failure."""
    parts = urlsplit(path)
    fields = {name: values[0] for name, values in parse_qs(parts.query).items()}
    if parts.path != "/search" or fields.get("format") != "json":
        return None
    silent = silent or {}
    named = fields.get("engines", "").split(",") if "engines" in fields else []
    # Like the original, the server ignores unknown engine names.
    asked = [name for name in named if name in ENGINES] or list(ENGINES)
    found: dict[str, list[str]] = {}
    for engine in (name for name in asked if name not in silent):
        for name in ANSWERS.get(fields["q"], {}).get(engine, ()):
            found.setdefault(name, []).append(engine)
    rows = [page(name, engines) for name, engines in found.items()]
    if named:
        start = (int(fields.get("pageno", 1)) - 1) * size
        rows = rows[start : start + size]
    unresponsive = [[name, why] for name, why in silent.items() if name in asked]
    return json.dumps({"query": fields["q"], "results": rows, "unresponsive_engines": unresponsive}).encode()
