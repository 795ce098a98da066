"""Review: one page after the other, the least sure first; a sample decides on its group."""

from __future__ import annotations

from threading import Lock
from time import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from topicrawl.collection import report, review, verdicts
from topicrawl.collection.review import Candidate, Group
from topicrawl.collection.store import Store
from topicrawl.collection.verdicts import Ruling
from topicrawl.urls import fingerprint
from topicrawl.web import figures
from topicrawl.web.actions import ruled
from topicrawl.web.reading import reading
from topicrawl.web.shelves import Opened
from topicrawl.web.site import Form, Site, go, home_of, shown

_LISTED = 12  # pages of the queue that are shown beside the one that is read


class Queues:
    """What is to be read in each collection; made anew when pages or verdicts came in."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int], list[Group], list[Candidate]]] = {}
        self._lock = Lock()

    def of(self, opened: Opened) -> tuple[list[Group], list[Candidate]]:
        """The groups and all pages of a collection."""
        ((last,),) = opened.store.rows("SELECT coalesce(max(number), 0) FROM verdicts")
        state = (report.counts(opened.store)[0], int(str(last)))
        key = str(opened.directory)
        with self._lock:
            known = self._known.get(key)
            if known is None or known[0] != state:
                pages = review.candidates(opened.store)
                known = (state, review.groups(pages, opened.topic.threshold), pages)
                self._known[key] = known
            return known[1], known[2]


QUEUES = Queues()


@shown
def queue(site: Site, request: Request, form: Form) -> Response:
    """The page to read now, with its group and what comes after it."""
    with site.shelves.opened(request.path_params["name"]) as opened:
        threshold = opened.topic.threshold
        made, pages = QUEUES.of(opened)
        waiting = review.queue(made, threshold)
        place = min(form.number("place", 0), max(0, len(waiting) - 1))
        read, missed = review.missed(pages, threshold)
        values: dict[str, Any] = {
            "it": figures.figures(opened),
            "waiting": waiting[max(0, place - 2) : place + _LISTED], "count": len(waiting),
            "place": place, "first": max(0, place - 2), "judged": len(verdicts.latest(opened.store)),
            "accepted": sum(group.accepted for group in made), "groups": len(made), "read": read, "missed": missed,
            "undoubted": len(review.undoubted(pages, threshold)), "heeded": figures.heeded(opened),
            "pending": figures.pending(opened), "last": verdicts.last(opened.store),
        }  # fmt: skip
        if not waiting:
            return site.page("review.html", **values, view=None)
        candidate, group = waiting[place]
        visit = opened.store.visit_of(candidate.url)
        assert visit is not None
        return site.page("review.html", **values, **reading(opened, visit), group=group)


@shown
def followed(site: Site, request: Request, form: Form) -> Response:
    """Whether the crawl has followed what was said: the part of the page that changes by itself."""
    with site.shelves.opened(request.path_params["name"]) as opened:
        said, waiting = figures.heeded(opened), figures.pending(opened)
        return site.page("followed.html", it=figures.figures(opened), heeded=said, pending=waiting)


@shown
def judge(site: Site, request: Request, form: Form) -> Response:
    """A verdict on the page that is read, and what follows for its group."""
    name, url, place = request.path_params["name"], form.address(), form.number("place", 0)
    ruled(site, name, [url], form.text("verdict"), "read")
    with site.shelves.written(name) as store:
        settle(store, url, _threshold(site, name))
    return go(f"{home_of(name)}/review", place=place)


def settle(store: Store, url: str, threshold: float) -> list[str]:
    """If the sample of the page's group is read now and good enough, all of the group is relevant."""
    page = fingerprint(url)
    for group in review.groups(review.candidates(store), threshold):
        if any(one.id == page for one in group.sample) and (urls := group.implied):
            verdicts.rule(store, urls, Ruling.RELEVANT, how="group", at=time())
            return urls
    return []


@shown
def accept(site: Site, request: Request, form: Form) -> Response:
    """Accept what is undoubtedly relevant, unseen."""
    name = request.path_params["name"]
    with site.shelves.written(name) as store:
        urls = review.undoubted(review.candidates(store), _threshold(site, name))
        if urls:
            verdicts.rule(store, urls, Ruling.RELEVANT, how="undoubted", at=time())
    return go(f"{home_of(name)}/review")


def _threshold(site: Site, name: str) -> float:
    with site.shelves.opened(name) as opened:
        return opened.topic.threshold
