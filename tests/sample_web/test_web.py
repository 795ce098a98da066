"""The sample web is deterministic, realistic and almost completely reachable."""

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
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from tests.helpers.markers import LONG

from topicrawl.errors import SettingError
from topicrawl.sample_web.web import SampleResponse, SampleWeb

Graph = dict[str, list[str]]


@pytest.fixture(scope="module")
def web() -> SampleWeb:
    return SampleWeb()


@pytest.fixture(scope="module")
def graph(web: SampleWeb) -> Graph:
    return {(url := web.page_url(number)): web.get_links(url) for number in range(web.pages)}


def distances(graph: Graph, starts: Iterable[str], through: Collection[str] | None = None) -> dict[str, int]:
    """Return the link distance from the starts to every page, following only links of pages in `through` if given."""
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


def follow_redirects(web: SampleWeb, url: str) -> tuple[str, SampleResponse]:
    for _ in range(5):
        answer = web.get_response(url)
        if answer.status not in (301, 302):
            return url, answer
        url = answer.headers["location"]
    raise AssertionError(f"{url} is in a redirect loop")


def test_the_web_does_not_depend_on_the_hash_seed() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", "from tests.helpers.sample_web import print_digest; print_digest()"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(digests) == 1


def test_another_seed_is_another_web(web: SampleWeb) -> None:
    assert SampleWeb(seed=2).get_response(SampleWeb(seed=2).page_url(50)) != web.get_response(web.page_url(50))


def test_the_default_web_is_large_with_unequal_hosts(web: SampleWeb, graph: Graph) -> None:
    sizes = Counter(urlsplit(url).hostname for url in graph)
    assert len(graph) == web.pages >= 3000
    assert len(sizes) >= 60
    assert len(web.topics) >= 8
    largest = sorted(sizes.values(), reverse=True)
    assert sum(largest[:6]) > 0.25 * web.pages  # a tenth of the hosts has a quarter of the pages
    assert largest[0] > 8 * largest[len(largest) // 2]


def test_no_topic_is_rare_and_none_is_everywhere(web: SampleWeb) -> None:
    counts = Counter(topic for topics in web.get_labels().values() for topic in topics)
    assert set(counts) == set(web.topics)
    assert all(0.02 * web.pages < count < 0.1 * web.pages for count in counts.values())


def test_some_pages_have_two_topics(web: SampleWeb) -> None:
    assert sum(len(topics) == 2 for topics in web.get_labels().values()) > 50


def test_pages_have_words_a_title_and_a_realistic_size(web: SampleWeb) -> None:
    for number in range(0, web.pages, 37):
        answer = web.get_response(web.page_url(number))
        html = answer.body.decode("latin-1")
        assert answer.status == 200
        assert web.page_url(number).isascii()
        assert 2000 < len(answer.body) < 40_000
        assert re.search(r"<title>.+</title>", html, re.IGNORECASE)
        assert len(split_words(html)) > 80


def test_a_few_pages_have_most_of_the_links_to_them(graph: Graph) -> None:
    inlinks = Counter(target for targets in graph.values() for target in targets)
    ranked = sorted(inlinks.values(), reverse=True)
    assert sum(ranked[: len(ranked) // 10]) > 0.5 * sum(ranked)


@pytest.mark.parametrize("topic", SampleWeb().topics)
def test_nearly_all_targets_can_be_reached_from_the_seeds(web: SampleWeb, graph: Graph, topic: str) -> None:
    labels = web.get_labels()
    seeds = web.get_seeds(topic)
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
    targets = {url for url, topics in web.get_labels().items() if topic in topics}
    best_linked = max(targets, key=lambda url: (sum(t in targets for t in graph[url]), url))
    zone = set(distances(graph, [best_linked], through=targets)) & targets
    depth = distances(graph, zone)
    hosts: dict[str, int] = {}
    for url in targets - zone:
        host = str(urlsplit(url).hostname)
        hosts[host] = min(hosts.get(host, 99), depth.get(url, 99))
    assert any(3 <= least < 99 for least in hosts.values())


@LONG
def test_a_redirect_leads_to_a_page_also_on_another_host(web: SampleWeb) -> None:
    crossings = 0
    seen = Counter[int]()
    for number in range(0, web.pages, 11):
        for url in raw_links(web, web.page_url(number)):
            answer = web.get_response(url)
            if answer.status in (301, 302):
                seen[answer.status] += 1
                final, page = follow_redirects(web, url)
                assert page.status in (200, 0, 500), f"{url} → {final}"
                crossings += urlsplit(final).hostname != urlsplit(url).hostname
    assert seen[301] > 30
    assert seen[302] > 10
    assert crossings > 10


@LONG
def test_there_are_dead_links_duplicates_and_faulty_hosts(web: SampleWeb) -> None:
    outcomes = Counter[str]()
    bodies: dict[bytes, set[str]] = {}
    for number in range(0, web.pages, 11):
        for url in [web.page_url(number), *raw_links(web, web.page_url(number))]:
            answer = web.get_response(url)
            outcomes[answer.fault or str(answer.status)] += 1
            if answer.status == 200:
                bodies.setdefault(answer.body, set()).add(url)
    assert outcomes["404"] > 20
    assert all(outcomes[fault] for fault in ("closed", "silent", "500"))
    assert sum(len(urls) > 1 for urls in bodies.values()) > 10


def test_some_hosts_are_slow_and_some_restrict_robots(web: SampleWeb) -> None:
    homes = {name: web.respond(name, "/") for name in web.hosts}
    robots = [web.respond(name, "/robots.txt").body.decode() for name in web.hosts]
    assert sum(0.1 <= answer.delay <= 0.4 for answer in homes.values()) >= 3
    assert sum("Disallow: /\n" in text for text in robots) >= 1
    assert sum("Disallow: /members/\n" in text for text in robots) >= 3
    assert sum("Crawl-delay: 1\n" in text for text in robots) >= 1


def test_pages_closed_to_robots_have_no_label(web: SampleWeb) -> None:
    for url in web.get_labels():
        host = str(urlsplit(url).hostname)
        assert web.get_response(url).status == 200
        assert "Disallow: /\n" not in web.respond(host, "/robots.txt").body.decode()


def test_the_calendar_never_ends(web: SampleWeb) -> None:
    name = next(name for name in web.hosts if web.respond(name, "/calendar/2024/05/").status == 200)
    url = f"http://{name}/calendar/2024/11/"
    for _ in range(40):
        url = next(link for link in reversed(raw_links(web, url)) if link.endswith("/") and "/calendar/" in link)
        assert web.get_response(url).status == 200
    assert urlsplit(url).path == "/calendar/2028/03/"


def test_the_port_is_in_every_address_and_changes_nothing_else(web: SampleWeb) -> None:
    with_port = web.with_port(8123)
    url = with_port.page_url(700)
    assert urlsplit(url).port == 8123
    assert url.replace(":8123", "") == web.page_url(700)
    assert with_port.get_response(url).body.replace(b":8123", b"") == web.get_response(web.page_url(700)).body


@pytest.mark.parametrize("path", ["/nothing.html", "/p/999999", "/calendar/2024/13/", "/out/x", "/p/²", "//"])
def test_unknown_paths_return_404(web: SampleWeb, path: str) -> None:
    assert web.get_response(web.page_url(0).rstrip("/") + path).status == 404


def test_a_web_too_small_for_its_hosts_is_rejected() -> None:
    with pytest.raises(SettingError, match="pages per host"):
        SampleWeb(pages=100, hosts=60)


@LONG
@pytest.mark.parametrize("topic", ["dengue fever", "chess"])
def test_a_focused_crawl_beats_breadth_first_but_does_not_find_everything(web: SampleWeb, topic: str) -> None:
    targets = {url for url, topics in web.get_labels().items() if topic in topics}
    budget = web.pages // 5
    breadth = len(crawl_by_cosine(web, web.get_seeds(topic), {}, budget) & targets) / len(targets)
    best = len(
        crawl_by_cosine(web, web.get_seeds(topic), dict.fromkeys(web.topics[topic], 1.0), budget) & targets
    ) / len(targets)
    assert breadth < 0.3
    assert 2 * breadth < best < 0.95


def split_words(html: str) -> list[str]:
    text = re.sub(r"(?s)<style.*?</style>|<script.*?</script>|<!--.*?-->|<[^>]*>", " ", html)
    return re.findall(r"[a-z]+", text.lower())


@cache
def _anchors(body: bytes) -> list[tuple[str, str]]:
    return re.findall(r'<a href="([^"]*)">([^<]*)</a>', body.decode("latin-1"))


def raw_links(web: SampleWeb, url: str) -> list[str]:
    return [urljoin(url, href.replace("&amp;", "&")) for href, _ in _anchors(web.get_response(url).body)]


def cosine(text: Iterable[str], query: Mapping[str, float]) -> float:
    counts = Counter(word.removesuffix("es").removesuffix("s") for word in text)
    length = math.sqrt(sum(count * count for count in counts.values()) * (len(query) or 1)) or 1.0
    return sum(counts[word] * weight for word, weight in query.items()) / length


def crawl_by_cosine(web: SampleWeb, seeds: list[str], query: Mapping[str, float], budget: int) -> set[str]:
    """Return the pages fetched by a crawl ordered by page and anchor cosine. Without a query it is breadth-first."""
    queue = [(0.0, turn, url) for turn, url in enumerate(seeds)]
    seen, fetched = set(seeds), set[str]()
    for _ in range(budget):
        _, _, url = heapq.heappop(queue)
        final, answer = follow_redirects(web, url)
        if answer.status != 200 or final in fetched:
            continue
        fetched.add(final)
        page_score = cosine(split_words(answer.body.decode("latin-1")), query)
        for href, anchor in _anchors(answer.body):
            target = urljoin(final, href.replace("&amp;", "&"))
            if target not in seen:
                seen.add(target)
                score = page_score + cosine(split_words(anchor), query)
                heapq.heappush(queue, (-score, len(seen), target))
    return fetched
