"""What is shown of a page beside its text: the way to it, the link that led there, and what all of that was worth."""

from __future__ import annotations

from typing import Any

from topicrawl.collection.store import Stored
from topicrawl.web import figures, reader
from topicrawl.web.shelves import Opened


def reading(opened: Opened, visit: Stored) -> dict[str, Any]:
    """What the templates `article.html`, `reasons.html` and `path.html` ask for."""
    path = figures.path_to(opened, visit)
    before = opened.store.visit_of(visit.source) if visit.source else None
    return {
        "visit": visit,
        "view": reader.stored_view(opened.archive, visit, opened.topic),
        "path": path,
        "lead": reader.lead(opened.archive, before, visit, opened.topic) if before is not None else None,
        "readers": figures.guidance(opened).reasons(visit.link),
    }
