"""Template values for a page of a collection: its text, the path to it, the link that led to it, and its scores."""

from __future__ import annotations

from typing import Any

from topicrawl.collection.notes import list_notes, list_tags
from topicrawl.collection.reviewer_log import find_verdict
from topicrawl.collection.store import StoredVisit
from topicrawl.urls import fingerprint
from topicrawl.web import crawl_figures, page_view
from topicrawl.web.collections import OpenCollection


def build_page_context(opened: OpenCollection, visit: StoredVisit) -> dict[str, Any]:
    """Return the values of the templates `article.html`, `reasons.html`, `notes.html` and `path.html`."""
    path = crawl_figures.trace_path(opened, visit)
    before = opened.store.find_visit(visit.source) if visit.source else None
    return {
        "visit": visit,
        "view": page_view.build_stored_view(opened.archive, visit, opened.topic),
        "path": path,
        "lead": page_view.find_link_excerpt(opened.archive, before, visit, opened.topic)
        if before is not None
        else None,
        "model_verdict": find_verdict(opened.store, visit.url),
        "notes": list_notes(opened.store, fingerprint(visit.url)),
        "tags": list_tags(opened.store, fingerprint(visit.url)),
        "feedback": crawl_figures.load_user_feedback(opened).explain_preference(visit.link),
    }
