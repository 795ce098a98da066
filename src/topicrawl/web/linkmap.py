"""The map of a crawl: its largest hosts, the links between their pages, and the communities that they form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import cos, pi, sin

from topicrawl.collection import links
from topicrawl.collection.store import Store
from topicrawl.urls import host

_HOSTS = 36
_PAGES = 4000  # whose links are counted; of more pages, that many are drawn
_SIZE = 760
_MARGIN = 190  # for names
_COLOURS = 6
_LINES = 220
_MORE = "\N{HORIZONTAL ELLIPSIS}"

Ways = Counter[tuple[str, str]]


@dataclass(frozen=True)
class LinkMap:
    """Hosts with their pages, links from one host to another, and hosts that belong together."""

    pages: Counter[str]
    ways: Ways
    communities: Sequence[Sequence[str]]
    shown: int  # hosts


def link_map(store: Store) -> LinkMap:
    """The map of a collection."""
    pages = Counter(host(str(url)) for (url,) in store.each("SELECT url FROM pages"))
    largest = [name for name, _ in pages.most_common(_HOSTS)]
    ways = _ways(store, frozenset(largest))
    return LinkMap(pages, ways, communities(largest, ways), len(largest))


def _ways(store: Store, chosen: frozenset[str]) -> Ways:
    """Links between pages of different hosts that are in the collection, whether they were followed or not."""
    where = {
        int(str(page)): name
        for page, url in store.each("SELECT id, url FROM pages")
        if (name := host(str(url))) in chosen
    }
    every = max(1, len(where) // _PAGES)
    ways: Ways = Counter()
    # A page's id is as good as a die.
    for source, leads in store.each("SELECT source, targets FROM links WHERE abs(source % ?) = 0", (every,)):
        here = where.get(int(str(source)))
        if here is None or not isinstance(leads, bytes):
            continue
        for target in links.targets(leads):
            there = where.get(target)
            if there is not None and there != here:
                ways[here, there] += 1
    return ways


def communities(names: Sequence[str], ways: Mapping[tuple[str, str], int]) -> list[list[str]]:
    """Hosts that link to each other more than chance has it: groups are joined for as long as modularity rises.

    Modularity: the share of links that stay within groups, less the share that would if links fell at random.

    >>> ways = {("a", "b"): 5, ("b", "a"): 4, ("c", "d"): 3, ("a", "c"): 1}
    >>> communities(["a", "b", "c", "d", "e"], ways)
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    groups: dict[str, list[str]] = {name: [name] for name in names}
    between: Counter[tuple[str, str]] = Counter()
    for (one, other), count in ways.items():
        if one != other and one in groups and other in groups:
            between[one, other] += count
            between[other, one] += count
    strength = Counter({name: sum(between[name, other] for other in names) for name in names})
    total = max(1, strength.total())
    while pairs := [pair for pair in between if pair[0] < pair[1]]:
        # The first of equals, so that the same links always make the same picture.
        best = max(sorted(pairs), key=lambda pair: between[pair] - strength[pair[0]] * strength[pair[1]] / total)
        one, other = best
        if between[best] * total <= strength[one] * strength[other]:
            break
        groups[one] += groups.pop(other)
        strength[one] += strength.pop(other)
        for third in groups:
            count = between.pop((other, third), 0)
            between.pop((third, other), None)
            if count and third != one:
                between[one, third] += count
                between[third, one] += count
        del between[one, other], between[other, one]
    made = [sorted(group, key=names.index) for group in groups.values()]
    return sorted(made, key=lambda group: (-len(group), names.index(group[0])))


def map_svg(drawn: LinkMap) -> str:
    """The hosts around a circle, communities side by side and of one colour; a line is as wide as links are many."""
    names = [name for group in drawn.communities for name in group]
    if not names:
        return ""
    colour = {name: n % _COLOURS for n, group in enumerate(drawn.communities) for name in group}
    radius, middle = _SIZE / 2 - _MARGIN, _SIZE / 2
    places = {}
    for number, name in enumerate(names):
        angle = 2 * pi * number / len(names)
        places[name] = (middle + radius * cos(angle), middle + radius * sin(angle), angle)
    label = f"{len(names)} hosts in {len(drawn.communities)} communities; the table below says which link to which"
    rows = [f'<svg viewBox="0 0 {_SIZE} {_SIZE}" role="img" aria-label="{escape(label)}" class="map">']
    widest = max(drawn.ways.values(), default=1)
    for (one, other), count in drawn.ways.most_common(_LINES):
        (x, y, _), (u, v, _) = places[one], places[other]
        # Half way to the middle, so that lines between neighbours stay at the rim.
        bend = f"{middle + (x + u - 2 * middle) / 6:.1f} {middle + (y + v - 2 * middle) / 6:.1f}"
        tint = f"h{colour[one]}" if colour[one] == colour[other] else "between"
        rows.append(
            f'<path class="way {tint}" d="M{x:.1f} {y:.1f} Q{bend} {u:.1f} {v:.1f}" '
            f'stroke-width="{0.6 + 4 * count / widest:.1f}">'
            f"<title>{escape(one)} → {escape(other)}: {count}</title></path>"
        )
    rows += [_host(drawn, name, places[name], colour[name]) for name in names]
    return "".join([*rows, "</svg>"])


def _host(drawn: LinkMap, name: str, place: tuple[float, float, float], colour: int) -> str:
    x, y, angle = place
    size = 4 + 10 * (drawn.pages[name] / max(drawn.pages.values())) ** 0.5
    # Names stand outwards, and none on its head.
    turn, right = angle * 180 / pi, cos(angle) >= 0
    turn, shift, anchor = (turn, size + 5, "start") if right else (turn + 180, -size - 5, "end")
    text = name.removeprefix("www.")
    text = text if len(text) <= 24 else text[:23] + _MORE
    return (
        f'<circle class="host h{colour}" cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"><title>{escape(name)}: '
        f'{drawn.pages[name]} pages</title></circle><text x="{x + shift:.1f}" y="{y + 4:.1f}" text-anchor="{anchor}" '
        f'transform="rotate({turn:.1f} {x:.1f} {y:.1f})">{escape(text)}</text>'
    )
