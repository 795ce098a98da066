"""Web of millions of small pages on loopback for the long crawl. Pages are generated on request.

    python bench/long_web.py --pages 900000

Page n is deterministic: 3 to 5 KB with about 400 words and 20 links, on one of 600 IP addresses from 127.1.0.1 on. Most
paths are names without a number; one in eight is numbered, like an archive. Pages form a tree with eight children each.
Half of the other links lead to the same host and half to any host. Every seventh page is on the topic, and so are most
of its children.
The first line of the output is the URL of the first page. `/-/served` returns the number of pages served so far.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
from collections.abc import Iterator
from random import Random

from website import SEED, Connection, Prose, encode_response

HOSTS = 600
CHILDREN = 8
OTHERS = 6  # links to the same host, and as many to any host
SENTENCES = 20_000
TOPIC = "dengue fever mosquito"
_MIX = 0x9E3779B97F4A7C15  # multiplier that spreads consecutive numbers
_ALL = (1 << 64) - 1


class GeneratedWeb:
    """Pages generated from their numbers, and lookup of page numbers by path."""

    def __init__(self, pages: int, port: int) -> None:
        random = Random(SEED)
        prose = Prose(random)
        self.pages = pages
        self._port = port
        self._sentences = [f"{prose.sentence()}\n" for _ in range(SENTENCES)]
        self._about = [
            f"{prose.sentence()[:-1]}, as {TOPIC if random.random() < 0.3 else random.choice(TOPIC.split())} "
            f"{prose.name(3)}.\n"
            for _ in range(SENTENCES // 10)
        ]
        names = [prose.name(1) for _ in range(4000)]
        self._names = list(dict.fromkeys(name for name in names if name.isalpha()))[:1000]
        self._places = {name: position for position, name in enumerate(self._names)}

    def host(self, number: int) -> str:
        """Return the host of a page."""
        index = number % HOSTS
        return f"127.1.{index // 200}.{index % 200 + 1}:{self._port}"

    def path(self, number: int) -> str:
        """Return the path of a page."""
        if number % 8 == 3:
            return f"/archive/{number}"
        rest, last = divmod(number, len(self._names))
        return (
            f"/{self._names[rest % 12]}/{self._names[rest % len(self._names)]}-{self._names[last]}-{_to_letters(rest)}"
        )

    def find_number(self, path: str) -> int | None:
        """Return the number of the page at a path, or None."""
        if path.startswith("/archive/"):
            return int(path[9:])
        if path == "/":
            return 0
        try:
            *_, last, rest = path.rsplit("-", 2)
            return _from_letters(rest) * len(self._names) + self._places[last]
        except (KeyError, ValueError):
            return None

    def render_page(self, number: int) -> bytes:
        """Return the HTML of a page."""
        random = _random_numbers(number)
        about = self._is_on_topic(number)
        title = " ".join(self._names[next(random) % len(self._names)] for _ in range(3))
        if about:
            title = f"{title} {TOPIC.split()[number % 3]}"
        goals = [goal for goal in range(number * CHILDREN + 1, (number + 1) * CHILDREN + 1) if goal < self.pages]
        goals += [next(random) % (self.pages // HOSTS) * HOSTS + number % HOSTS for _ in range(OTHERS)]
        goals += [next(random) % self.pages for _ in range(OTHERS)]
        parts = [f"<!DOCTYPE html><html lang=en><head><title>{title}</title></head><body><h1>{title}</h1>\n"]
        for goal in goals:
            sentences = [self._sentences[next(random) % SENTENCES]]
            if about:
                sentences.append(self._about[next(random) % len(self._about)])
            parts.append(f'<p>{"".join(sentences)} <a href="http://{self.host(goal)}{self.path(goal)}">')
            parts.append(f"{self._anchor(goal)}</a>, {self._names[next(random) % len(self._names)]}.</p>\n")
        parts.append("</body></html>")
        return "".join(parts).encode()

    def _is_on_topic(self, number: int) -> bool:
        """Return whether a page is on the topic: every seventh page and most children of these."""
        return number % 7 == 0 or (number % 5 > 0 and (number - 1) // CHILDREN % 7 == 0)

    def _anchor(self, goal: int) -> str:
        word = self._names[goal * 7 % len(self._names)]
        return f"{TOPIC.split()[goal % 3]} {word}" if self._is_on_topic(goal) and goal % 3 else f"{word} {word[::-1]}"


def _random_numbers(number: int) -> Iterator[int]:
    """Yield pseudo-random numbers, much faster than seeding a `Random`."""
    state = (number + 1) * _MIX & _ALL
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) & _ALL
        yield state >> 33


def _to_letters(number: int) -> str:
    """Convert a number to letters.

    >>> _to_letters(0), _to_letters(700), _from_letters(_to_letters(12345))
    ('a', 'bay', 12345)
    """
    text = chr(97 + number % 26)
    while number := number // 26:
        text = chr(97 + number % 26) + text
    return text


def _from_letters(text: str) -> int:
    """Convert letters from `_to_letters` back to a number."""
    number = 0
    for letter in text:
        number = number * 26 + ord(letter) - 97
    return number


class GeneratedWebConnection(Connection):
    """One client connection to the generated web."""

    def __init__(self, web: GeneratedWeb, served: list[int]) -> None:
        self._web = web
        self._served = served
        self._rest = b""
        self._transport = None

    def _answer(self, head: bytes) -> bytes:
        path = head.split(b" ", 2)[1].decode()
        if path == "/robots.txt":
            return encode_response(b"200 OK", b"User-agent: *\nAllow: /\n", "text/plain")
        if path == "/-/served":
            return encode_response(b"200 OK", str(self._served[0]).encode(), "text/plain")
        number = self._web.find_number(path)
        if number is None or number >= self._web.pages:
            return encode_response(b"404 Not Found", b"not here", "text/plain")
        self._served[0] += 1
        return encode_response(b"200 OK", self._web.render_page(number), "text/html; charset=utf-8")


async def serve(pages: int) -> None:
    """Serve the web until the process is terminated."""
    # One socket accepts connections to all addresses of this machine, including 127.0.0.0/8.
    listening = socket.create_server(("", 0), backlog=512)
    port = listening.getsockname()[1]
    web, served = GeneratedWeb(pages, port), [0]
    await asyncio.get_running_loop().create_server(lambda: GeneratedWebConnection(web, served), sock=listening)
    print(f"http://{web.host(0)}/", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Serve the number of pages given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=900_000)
    asyncio.run(serve(parser.parse_args().pages))


if __name__ == "__main__":
    main()
