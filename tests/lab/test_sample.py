"""The made-up web is the same for everybody, worth crawling, and nearly everything in it can be found."""

from __future__ import annotations

import heapq
import math
import os
import re
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from urllib.parse import urljoin, urlsplit

import pytest

from topicrawl.errors import SettingError
from topicrawl.lab.sample import Answer, SampleWeb

DIGEST = """
import hashlib
from topicrawl.lab.sample import SampleWeb
web = SampleWeb(seed=5, pages=1000, hosts=40)
digest = hashlib.sha256(repr((web.hosts, web.labels(), web.topics, web.seeds("chess"))).encode())
for number in range(0, 1000, 7):
    digest.update(repr(web.answer(web.url(number))).encode())
print(digest.hexdigest())
"""

Graph = dict[str, list[str]]


@pytest.fixture(scope="module")
def web() -> SampleWeb:
    return SampleWeb()


@pytest.fixture(scope="module")
def graph(web: SampleWeb) -> Graph:
    return {(url := web.url(number)): web.links(url) for number in range(web.pages)}


def distances(graph: Graph, starts: Iterable[str], through: Collection[str] | None = None) -> dict[str, int]:
    """Links from the starts to every page; only pages in `through` are left again, if it is given."""
    found = dict.fromkeys(starts, 0)
    queue = deque(found)
    while queue:
        url = queue.popleft()
        for target in graph[url]:
            if target not in found:
                found[target] = found[url] + 1
                if through is None or target in through:
                    queue.append(target)
    return found


def landed(web: SampleWeb, url: str) -> tuple[str, Answer]:
    for _ in range(5):
        answer = web.answer(url)
        if answer.status not in (301, 302):
            return url, answer
        url = answer.headers["location"]
    raise AssertionError(f"{url} goes round in circles")


def test_every_process_sees_the_same_web_whatever_its_hash_seed() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(digests) == 1


def test_another_seed_is_another_web(web: SampleWeb) -> None:
    assert SampleWeb(seed=2).answer(SampleWeb(seed=2).url(50)) != web.answer(web.url(50))


def test_it_is_large_enough_to_get_lost_in(web: SampleWeb, graph: Graph) -> None:
    sizes = Counter(urlsplit(url).hostname for url in graph)
    assert len(graph) == web.pages >= 3000
    assert len(sizes) >= 60
    assert len(web.topics) >= 8
    largest = sorted(sizes.values(), reverse=True)
    assert sum(largest[:6]) > 0.25 * web.pages  # a tenth of the hosts has a quarter of the pages
    assert largest[0] > 8 * largest[len(largest) // 2]


def test_no_topic_is_rare_and_none_is_everywhere(web: SampleWeb) -> None:
    counts = Counter(topic for topics in web.labels().values() for topic in topics)
    assert set(counts) == set(web.topics)
    assert all(0.02 * web.pages < count < 0.1 * web.pages for count in counts.values())


def test_some_pages_carry_two_topics(web: SampleWeb) -> None:
    assert sum(len(topics) == 2 for topics in web.labels().values()) > 50


def test_pages_have_words_a_title_and_a_natural_size(web: SampleWeb) -> None:
    for number in range(0, web.pages, 37):
        answer = web.answer(web.url(number))
        html = answer.body.decode("latin-1")
        assert answer.status == 200
        assert web.url(number).isascii()
        assert 2000 < len(answer.body) < 40_000
        assert re.search(r"<title>.+</title>", html, re.IGNORECASE)
        assert len(words(html)) > 80


def test_a_few_pages_have_most_of_the_links_to_them(graph: Graph) -> None:
    inlinks = Counter(target for targets in graph.values() for target in targets)
    ranked = sorted(inlinks.values(), reverse=True)
    assert sum(ranked[: len(ranked) // 10]) > 0.5 * sum(ranked)


@pytest.mark.parametrize("topic", SampleWeb().topics)
def test_nearly_all_targets_can_be_reached_from_the_seeds(web: SampleWeb, graph: Graph, topic: str) -> None:
    labels = web.labels()
    seeds = web.seeds(topic)
    targets = {url for url, topics in labels.items() if topic in topics}
    reached = distances(graph, seeds)
    assert len(seeds) == 3
    assert not targets & set(seeds)
    for seed in seeds:
        depth = distances(graph, [seed])
        assert 1 <= min(depth[url] for url in targets & set(depth)) <= 2
    assert len(targets & set(reached)) >= 0.95 * len(targets)


@pytest.mark.parametrize("topic", SampleWeb().topics)
def test_whole_sites_lie_behind_two_off_topic_pages(web: SampleWeb, graph: Graph, topic: str) -> None:
    targets = {url for url, topics in web.labels().items() if topic in topics}
    best_linked = max(targets, key=lambda url: (sum(t in targets for t in graph[url]), url))
    zone = set(distances(graph, [best_linked], through=targets)) & targets
    depth = distances(graph, zone)
    hosts: dict[str, int] = {}
    for url in targets - zone:
        host = str(urlsplit(url).hostname)
        hosts[host] = min(hosts.get(host, 99), depth.get(url, 99))
    assert any(3 <= least < 99 for least in hosts.values())


def test_a_redirect_leads_to_a_page_also_on_another_host(web: SampleWeb) -> None:
    crossings = 0
    seen = Counter[int]()
    for number in range(0, web.pages, 11):
        for url in raw_links(web, web.url(number)):
            answer = web.answer(url)
            if answer.status in (301, 302):
                seen[answer.status] += 1
                final, page = landed(web, url)
                assert page.status in (200, 0, 500), f"{url} → {final}"
                crossings += urlsplit(final).hostname != urlsplit(url).hostname
    assert seen[301] > 30
    assert seen[302] > 10
    assert crossings > 10


def test_there_are_dead_links_copies_and_hosts_in_trouble(web: SampleWeb) -> None:
    found = Counter[str]()
    bodies: dict[bytes, set[str]] = {}
    for number in range(0, web.pages, 11):
        for url in [web.url(number), *raw_links(web, web.url(number))]:
            answer = web.answer(url)
            found[answer.fault or str(answer.status)] += 1
            if answer.status == 200:
                bodies.setdefault(answer.body, set()).add(url)
    assert found["404"] > 20
    assert all(found[trouble] for trouble in ("closed", "silent", "500"))
    assert sum(len(urls) > 1 for urls in bodies.values()) > 10


def test_some_hosts_are_slow_and_some_restrict_robots(web: SampleWeb) -> None:
    homes = {name: web.reply(name, "/") for name in web.hosts}
    robots = [web.reply(name, "/robots.txt").body.decode() for name in web.hosts]
    assert sum(0.1 <= answer.delay <= 0.4 for answer in homes.values()) >= 3
    assert sum("Disallow: /\n" in text for text in robots) >= 1
    assert sum("Disallow: /members/\n" in text for text in robots) >= 3
    assert sum("Crawl-delay: 1\n" in text for text in robots) >= 1


def test_no_label_is_on_a_page_that_robots_may_not_have(web: SampleWeb) -> None:
    for url in web.labels():
        host = str(urlsplit(url).hostname)
        assert web.answer(url).status == 200
        assert "Disallow: /\n" not in web.reply(host, "/robots.txt").body.decode()


def test_the_calendar_never_ends(web: SampleWeb) -> None:
    name = next(name for name in web.hosts if web.reply(name, "/calendar/2024/05/").status == 200)
    url = f"http://{name}/calendar/2024/11/"
    for _ in range(40):
        url = next(link for link in reversed(raw_links(web, url)) if link.endswith("/") and "/calendar/" in link)
        assert web.answer(url).status == 200
    assert urlsplit(url).path == "/calendar/2028/03/"


def test_the_port_is_in_every_address_and_changes_nothing_else(web: SampleWeb) -> None:
    moved = web.at_port(8123)
    url = moved.url(700)
    assert urlsplit(url).port == 8123
    assert url.replace(":8123", "") == web.url(700)
    assert moved.answer(url).body.replace(b":8123", b"") == web.answer(web.url(700)).body


@pytest.mark.parametrize("path", ["/nothing.html", "/p/999999", "/calendar/2024/13/", "/out/x", "/p/²", "//"])
def test_what_does_not_exist_is_not_found(web: SampleWeb, path: str) -> None:
    assert web.answer(web.url(0).rstrip("/") + path).status == 404


def test_a_web_too_small_for_its_hosts_is_refused() -> None:
    with pytest.raises(SettingError, match="pages for each"):
        SampleWeb(pages=100, hosts=60)


@pytest.mark.parametrize("topic", ["dengue fever", "chess"])
def test_following_the_words_beats_walking_in_all_directions_but_finds_not_everything(
    web: SampleWeb, topic: str
) -> None:
    targets = {url for url, topics in web.labels().items() if topic in topics}
    budget = web.pages // 5
    breadth = len(crawled(web, web.seeds(topic), {}, budget) & targets) / len(targets)
    best = len(crawled(web, web.seeds(topic), dict.fromkeys(web.topics[topic], 1.0), budget) & targets) / len(targets)
    assert breadth < 0.3
    assert 2 * breadth < best < 0.95


def words(html: str) -> list[str]:
    text = re.sub(r"(?s)<style.*?</style>|<script.*?</script>|<!--.*?-->|<[^>]*>", " ", html)
    return re.findall(r"[a-z]+", text.lower())


@cache
def _anchors(body: bytes) -> list[tuple[str, str]]:
    return re.findall(r'<a href="([^"]*)">([^<]*)</a>', body.decode("latin-1"))


def raw_links(web: SampleWeb, url: str) -> list[str]:
    return [urljoin(url, href.replace("&amp;", "&")) for href, _ in _anchors(web.answer(url).body)]


def cosine(text: Iterable[str], query: Mapping[str, float]) -> float:
    counts = Counter(word.removesuffix("es").removesuffix("s") for word in text)
    length = math.sqrt(sum(count * count for count in counts.values()) * (len(query) or 1)) or 1.0
    return sum(counts[word] * weight for word, weight in query.items()) / length


def crawled(web: SampleWeb, seeds: list[str], query: Mapping[str, float], budget: int) -> set[str]:
    """What a crawl by page and anchor cosine fetches; without a query it is breadth-first."""
    waiting = [(0.0, turn, url) for turn, url in enumerate(seeds)]
    seen, fetched = set(seeds), set[str]()
    for _ in range(budget):
        _, _, url = heapq.heappop(waiting)
        final, answer = landed(web, url)
        if answer.status != 200 or final in fetched:
            continue
        fetched.add(final)
        here = cosine(words(answer.body.decode("latin-1")), query)
        for href, anchor in _anchors(answer.body):
            target = urljoin(final, href.replace("&amp;", "&"))
            if target not in seen:
                seen.add(target)
                score = here + cosine(words(anchor), query)
                heapq.heappush(waiting, (-score, len(seen), target))
    return fetched
