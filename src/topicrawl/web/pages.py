"""Pages to look at: all collections, one of them, its pages, its map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from topicrawl import strategies
from topicrawl.collection import orders, report, verdicts
from topicrawl.collection.orders import Order
from topicrawl.errors import CollectionError
from topicrawl.strategies.strategy import Strategy
from topicrawl.urls import fingerprint
from topicrawl.web import drawing, figures, linkmap
from topicrawl.web.crawls import named
from topicrawl.web.reading import reading
from topicrawl.web.shelves import Opened
from topicrawl.web.site import Form, Site, shown

_NEXT = 12  # links
_PAGE = 50  # rows of a list
_HOSTS = 12
_LINKS = 100  # of a page
_WAYS = 25  # of the map
#: What the list of pages can be narrowed to; each condition takes the threshold.
_SHOWN = {
    "all": "failure IS NULL AND ? >= 0",
    "relevant": "failure IS NULL AND relevance >= ?",
    "reviewed": "failure IS NULL AND ? >= 0 AND step IN (SELECT p.step FROM pages p JOIN verdicts v ON v.page = p.id)",
    "failed": "failure IS NOT NULL AND ? >= 0",
}


@shown
def home(site: Site, request: Request, form: Form) -> Response:
    """All collections, and a form for a new one."""
    return front(site, {"words": "", "seeds": "", "strategy": "", "pages": ""})


def front(site: Site, given: Mapping[str, str], *, trouble: str = "") -> Response:
    """The first page; with what was written into its form, and why that will not do."""
    found, broken = [], list(site.shelves.damaged())
    for name in site.shelves.all():
        try:
            with site.shelves.opened(name) as opened:
                found.append(figures.figures(opened))
        except CollectionError as error:
            broken.append((name, str(error)))
    known = {directory for directory in site.shelves.all().values()}
    started = [
        (directory.name, started.running, named(directory, started.words()))
        for directory, started in site.crawls.waiting().items()
        if directory not in known
    ]
    return site.page(
        "home.html", code=400 if trouble else 200, given=given, trouble=trouble, collections=found,
        broken=broken, started=started, home=site.shelves.home,
        strategies=[(name, strategies.sentence(kind)) for name, kind in strategies.available().items() if _ready(kind)],
        usual=strategies.USUAL,
    )  # fmt: skip


def _ready(kind: type[Strategy]) -> bool:
    """Whether a strategy can begin with words alone: a form has no place for what others learn from."""
    return "examples" not in kind.inputs


@shown
def collection(site: Site, request: Request, form: Form) -> Response:
    """One collection: what it has, what it does, what comes next."""
    with site.shelves.opened(request.path_params["name"]) as opened:
        return site.page("collection.html", **_watched(site, opened))


def _watched(site: Site, opened: Opened) -> dict[str, Any]:
    blocked = orders.standing(opened.store, Order.BLOCK)
    boosts = orders.standing(opened.store, Order.BOOST)
    hosts = figures.hosts(opened, _HOSTS)
    hosts += [(host, 0) for host in {**blocked, **boosts} if host not in dict(hosts)]
    return {
        "it": figures.figures(opened),
        "curve": Markup(drawing.curve_svg(figures.curve(opened))),  # drawn from numbers alone
        "failures": report.failures(opened.store),
        "hosts": hosts,
        "blocked": blocked,
        "boosts": boosts,
        "next": figures.coming(opened, _NEXT),
        "heeded": figures.heeded(opened),
        "pending": figures.pending(opened),
        "words": list(opened.topic.all_words),
        "trouble": site.crawls.trouble(opened.directory),
        "added": orders.standing(opened.store, Order.WORD),
        "settings": figures.settings(opened),
    }


@shown
def pages(site: Site, request: Request, form: Form) -> Response:
    """The pages of a collection, the newest first; as many as fit on a screen or two."""
    before = form.number("before", 0, most=1 << 40)
    show = form.text("show") if form.text("show") in _SHOWN else "all"
    with site.shelves.opened(request.path_params["name"]) as opened:
        visits = list(
            opened.store.each(
                f"SELECT step, url, relevance, failure, detail FROM visits WHERE {_SHOWN[show]} AND (? = 0 OR step < ?)"
                " ORDER BY step DESC LIMIT ?",
                (opened.topic.threshold, before, before, _PAGE),
            )
        )
        rows = [(step, str(url), _title(opened, str(url)), *rest) for step, url, *rest in visits]
        said = {row.url: str(row.verdict) for row in verdicts.latest(opened.store).values()}
        it = figures.figures(opened)
        counts = (it.pages, it.relevant, it.judged, sum(report.failures(opened.store).values()))
        return site.page(
            "pages.html", it=it, rows=rows, said=said, more=len(rows) == _PAGE, last=rows[-1][0] if rows else 0,
            before=before, show=show, choices=dict(zip(_SHOWN, counts, strict=True)),
        )  # fmt: skip


def _title(opened: Opened, url: str) -> str:
    found = opened.store.rows("SELECT title FROM pages WHERE id=?", (fingerprint(url),))
    return str(found[0][0]) if found else ""


@shown
def page(site: Site, request: Request, form: Form) -> Response:
    """One page as text, with the topic's words marked, how it was reached, and what was said of it."""
    url = form.address()
    with site.shelves.opened(request.path_params["name"]) as opened:
        visit = opened.store.visit_of(url)
        it = figures.figures(opened)
        if visit is None:
            return site.page("unknown.html", code=404, it=it, url=url)
        verdict = verdicts.latest(opened.store).get(fingerprint(visit.url))
        shown_now = reading(opened, visit)
        links = [link.url for link in shown_now["view"].links[:_LINKS]]
        return site.page(
            "reader.html", it=it, **shown_now, verdict=str(verdict.verdict) if verdict else "",
            back=f"page?{request.url.query}", fetched={url for url in links if opened.store.visit_of(url) is not None},
        )  # fmt: skip


@shown
def map_of(site: Site, request: Request, form: Form) -> Response:
    """Which hosts link to which, and what communities they form."""
    with site.shelves.opened(request.path_params["name"]) as opened:
        drawn = linkmap.link_map(opened.store)
        rows = [(one, other, count) for (one, other), count in drawn.ways.most_common(_WAYS)]
        return site.page(
            "map.html", it=figures.figures(opened), drawn=drawn, picture=Markup(linkmap.map_svg(drawn)), ways=rows,
        )  # fmt: skip
