"""Link map of a collection: its largest hosts, the links between them, and the communities that they form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import cos, pi, sin

from topicrawl.collection import link_rows
from topicrawl.collection.queries import count_pages_by_host
from topicrawl.collection.store import HOST_OF_URL, CollectionStore

_MAX_HOSTS = 36
_MAX_PAGES = 4000  # pages whose links are counted; of a larger collection, a sample of this size
_SIZE = 760
_MARGIN = 215  # for the host names
_COLOURS = 6
_MAX_LINES = 220
_MAX_NAME, _SHORT_NAME = 24, 11  # characters of a host name, in wide and in narrow windows
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"

HostLinks = Counter[tuple[str, str]]


@dataclass(frozen=True)
class LinkMap:
    """Page counts of hosts, link counts between hosts, and communities of hosts."""

    pages: Counter[str]
    links: HostLinks
    communities: Sequence[Sequence[str]]
    shown: int  # number of hosts on the map


def build_link_map(store: CollectionStore) -> LinkMap:
    """Build the link map of a collection."""
    pages = count_pages_by_host(store)
    largest = [name for name, _ in pages.most_common(_MAX_HOSTS)]
    ways = _count_host_links(store, frozenset(largest))
    return LinkMap(pages, ways, find_communities(largest, ways), len(largest))


def _count_host_links(store: CollectionStore, hosts: frozenset[str]) -> HostLinks:
    """Count the links between pages of different hosts in the collection, followed or not."""
    # The index by host finds the pages of these hosts.
    sql = f"SELECT id, {HOST_OF_URL} FROM pages WHERE {HOST_OF_URL} IN ({','.join('?' * len(hosts))})"
    host_of = dict(store.query_typed_rows(tuple[int, str], sql, sorted(hosts)))
    step = max(1, len(host_of) // _MAX_PAGES)
    counts: HostLinks = Counter()
    # Page ids are hashes, so every n-th id is a random sample.
    sql = "SELECT source, targets FROM links WHERE abs(source % ?) = 0"
    for page, targets in store.iterate_typed_rows(tuple[int, bytes], sql, (step,)):
        source = host_of.get(page)
        if source is None:
            continue
        for target in link_rows.unpack_targets(targets):
            destination = host_of.get(target)
            if destination is not None and destination != source:
                counts[source, destination] += 1
    return counts


def find_communities(names: Sequence[str], links: Mapping[tuple[str, str], int]) -> list[list[str]]:
    """Find communities of hosts by greedy merging: join two groups while that increases the modularity.

    The modularity is the share of links within groups minus the expected share if the links were random.

    >>> ways = {("a", "b"): 5, ("b", "a"): 4, ("c", "d"): 3, ("a", "c"): 1}
    >>> find_communities(["a", "b", "c", "d", "e"], ways)
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    groups: dict[str, list[str]] = {name: [name] for name in names}
    between: Counter[tuple[str, str]] = Counter()
    for (one, other), count in links.items():
        if one != other and one in groups and other in groups:
            between[one, other] += count
            between[other, one] += count
    strength = Counter({name: sum(between[name, other] for other in names) for name in names})
    total = max(1, strength.total())
    while pairs := [pair for pair in between if pair[0] < pair[1]]:
        # Ties are broken by name, so that the result is deterministic.
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
    ordered = [sorted(group, key=names.index) for group in groups.values()]
    return sorted(ordered, key=lambda group: (-len(group), names.index(group[0])))


def render_map(link_map: LinkMap) -> str:
    """Render the map as SVG: hosts on a circle, one colour per community, line width by the number of links."""
    names = [name for group in link_map.communities for name in group]
    if not names:
        return ""
    colour = {name: n % _COLOURS for n, group in enumerate(link_map.communities) for name in group}
    radius, middle = _SIZE / 2 - _MARGIN, _SIZE / 2
    places = {}
    for number, name in enumerate(names):
        angle = 2 * pi * number / len(names)
        places[name] = (middle + radius * cos(angle), middle + radius * sin(angle), angle)
    label = (
        f"{len(names)} hosts in {len(link_map.communities)} communities; the lists below contain the names and links"
    )
    rows = [f'<svg viewBox="0 0 {_SIZE} {_SIZE}" role="img" aria-label="{escape(label)}">']
    widest = max(link_map.links.values(), default=1)
    for (one, other), count in link_map.links.most_common(_MAX_LINES):
        (x, y, _), (u, v, _) = places[one], places[other]
        # The curves bend towards the centre; lines between neighbours stay near the circle.
        bend = f"{middle + (x + u - 2 * middle) / 6:.1f} {middle + (y + v - 2 * middle) / 6:.1f}"
        tint = f"h{colour[one]}" if colour[one] == colour[other] else "between"
        rows.append(
            f'<path class="way {tint}" data-ends="{escape(one)} {escape(other)}" '
            f'd="M{x:.1f} {y:.1f} Q{bend} {u:.1f} {v:.1f}" '
            f'stroke-width="{0.6 + 4 * count / widest:.1f}">'
            f"<title>{escape(one)} → {escape(other)}: {count}</title></path>"
        )
    rows += [_render_host(link_map, name, places[name], colour[name]) for name in names]
    return "".join([*rows, "</svg>"])


def _render_host(link_map: LinkMap, name: str, position: tuple[float, float, float], colour: int) -> str:
    """Render one host as a circle with its name."""
    x, y, angle = position
    size = 4 + 10 * (link_map.pages[name] / max(link_map.pages.values())) ** 0.5
    # Names point outwards; those on the left half are rotated by 180 degrees to stay readable.
    turn, right = angle * 180 / pi, cos(angle) >= 0
    turn, shift, anchor = (turn, size + 5, "start") if right else (turn + 180, -size - 5, "end")
    text = name.removeprefix("www.")
    text = text if len(text) <= _MAX_NAME else text[: _MAX_NAME - 1] + _ELLIPSIS
    # Narrow windows show fewer characters of a name, in a larger font.
    rest = text[_SHORT_NAME:]
    label = escape(text[:_SHORT_NAME])
    if rest:
        label += f'<tspan class="rest">{escape(rest)}</tspan><tspan class="cut">{_ELLIPSIS}</tspan>'
    return (
        f'<g class="node" data-host="{escape(name)}"><circle class="host h{colour}" cx="{x:.1f}" cy="{y:.1f}"'
        f' r="{size:.1f}"><title>{escape(name)}: {link_map.pages[name]} pages</title></circle>'
        f'<text x="{x + shift:.1f}" y="{y + 4:.1f}" text-anchor="{anchor}" '
        f'transform="rotate({turn:.1f} {x:.1f} {y:.1f})">{label}</text></g>'
    )


def describe_hosts(link_map: LinkMap) -> list[dict[str, object]]:
    """Return the hosts on the map for the script of the page: name, pages, and links from and to other hosts."""
    links: dict[str, list[tuple[str, int, int]]] = {}
    for one, other in {tuple(sorted(pair)) for pair in link_map.links}:
        there, back = link_map.links[one, other], link_map.links[other, one]
        links.setdefault(one, []).append((other, there, back))
        links.setdefault(other, []).append((one, back, there))
    return [
        {
            "name": name,
            "pages": link_map.pages[name],
            "links": sorted(links.get(name, []), key=lambda row: (-row[1] - row[2], row[0])),
        }
        for group in link_map.communities
        for name in group
    ]
