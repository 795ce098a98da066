"""Small web on loopback for the speed benchmark: generated from a seed, held in memory, served by one process.

    python bench/website.py --pages 1500

The pages resemble software documentation: English-like prose (English function words, invented content words, Zipf's
law), code samples, a table and menus. A page has 38 KB with about 1,800 words and 100 links. The pages are distributed
over the addresses 127.0.0.1 … 127.0.0.8 on one port. They form a tree with twelve children each, so that every page is
reachable from the first; the other links are random. With `--plain`, pages are prose only, 29 KB.
The first line of the output is the URL of the first page.
`/-/served` returns the numbers of distinct pages and of all pages requested since the last call, and resets them.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
from itertools import accumulate
from random import Random

SEED = 20
LINKS = 100
CHILDREN = 12
WORDS = """
the of and to in a is that for it as was with be by on not he his but at are this have from or had an they
which one you were all her she there would their we him been has when who will no more if out so up said
what its about than into them can only other time new some could these two may first then do any like my now
over such our man even most made after also did many off before must well back through years where much your
way
"""
FUNCTION_WORDS = WORDS.split()
PLACES = "nature travel history science garden kitchen music letters maps stories notes people"
SECTIONS = PLACES.split()
STARTS = "b br c ch cl d dr f fl g gr h j k l m n p pl pr qu r s sh sl sp st str t th tr v w wh"
ONSETS = STARTS.split()
VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "ee", "ie", "oa", "oo", "ou", "ay"]
CODAS = ["", "", "", "n", "r", "t", "l", "s", "nd", "st", "ck", "m", "ng", "rd", "ll"]


class Prose:
    """Generator of sentences with the word frequencies of natural text."""

    def __init__(self, random: Random) -> None:
        self._random = random
        invented: dict[str, None] = {}
        while len(invented) < 6000:
            syllables = random.choices((1, 2, 3), (2, 5, 3))[0]
            word = "".join(
                random.choice(ONSETS) + random.choice(VOWELS) + random.choice(CODAS) for _ in range(syllables)
            )
            invented[word] = None
        self._words = FUNCTION_WORDS + [word for word in invented if word not in FUNCTION_WORDS]
        self._weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(self._words))))
        self._content = self._words[len(FUNCTION_WORDS) :]
        self._content_weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(self._content))))

    def words(self, n: int) -> list[str]:
        """Return n random words."""
        return self._random.choices(self._words, cum_weights=self._weights, k=n)

    def frequent(self, n: int) -> list[str]:
        """Return the most frequent content words, which are a topic of every page."""
        return self._content[:n]

    def name(self, n: int) -> str:
        """Return n random content words for titles, anchors and paths."""
        return " ".join(self._random.choices(self._content, cum_weights=self._content_weights, k=n))

    def sentence(self) -> str:
        """Return a random sentence."""
        text = " ".join(self.words(self._random.randint(8, 24)))
        return f"{text[0].upper()}{text[1:]}."


class Website:
    """All encoded responses of the web."""

    def __init__(self, pages: int, hosts: int, port: int, *, plain: bool = False, written: int | None = None) -> None:
        """Generate the web. With `written`, only that many pages exist; the others are only link targets."""
        random = Random(SEED)
        self._plain = plain
        prose = Prose(random)
        self._hosts = [f"127.0.0.{1 + number}:{port}" for number in range(hosts)]
        self.titles = [prose.name(random.randint(3, 6)) for _ in range(pages)]
        self.paths = [
            f"/{SECTIONS[number % len(SECTIONS)]}/{title.replace(' ', '-')}-{number}.html"
            for number, title in enumerate(self.titles)
        ]
        self.paths[0] = "/"
        self.sizes: list[int] = []
        self.answers: dict[bytes, tuple[bytes, int]] = {}  # host and path → (response, page number)
        for number in range(pages if written is None else written):
            body = self._page(number, prose, random).encode()
            self.sizes.append(len(body))
            self.answers[self._place(number).encode()] = (
                encode_response(b"200 OK", body, "text/html; charset=utf-8"),
                number,
            )
        for host in self._hosts:
            body = b"User-agent: *\nAllow: /\n"
            self.answers[f"{host}/robots.txt".encode()] = (encode_response(b"200 OK", body, "text/plain"), -1)

    @property
    def first(self) -> str:
        """URL of the first page."""
        return f"http://{self._place(0)}"

    def _place(self, number: int) -> str:
        return self._hosts[number % len(self._hosts)] + self.paths[number]

    def _goals(self, number: int, random: Random) -> list[int]:
        """Return a hundred distinct link targets, including the children, so that every page is reachable."""
        pages = len(self.paths)
        goals = dict.fromkeys(range(number * CHILDREN + 1, min(pages, (number + 1) * CHILDREN + 1)))
        while len(goals) < min(LINKS, pages - 1):
            if (goal := random.randrange(pages)) != number:
                goals[goal] = None
        shuffled = list(goals)
        random.shuffle(shuffled)
        return shuffled

    def _anchor(self, source: int, goal: int, text: str) -> str:
        near = source % len(self._hosts) == goal % len(self._hosts)
        address = self.paths[goal] if near else f"http://{self._place(goal)}"
        return f'<a href="{address}" class="reference internal">{text}</a>'

    def _page(self, number: int, prose: Prose, random: Random) -> str:
        goals = self._goals(number, random)
        menu, inline, aside = goals[:15], goals[15:80], goals[80:]
        title = self.titles[number].title()
        parts = [_HEAD.format(title=title, sentence=prose.sentence())]
        parts += [f'<li class="toctree-l1">{self._anchor(number, goal, prose.name(2))}</li>\n' for goal in menu]
        parts.append(f'</ul></nav>\n<main class="content" role="main"><section id="top"><h1>{title}</h1>\n')
        for index in range(26):
            if index % 5 == 0:
                parts.append(_section(index, prose))
            if index % 5 == 3 and not self._plain:
                parts.append(_code(prose) if index != 13 else _table(prose))
            sentences = [prose.sentence() for _ in range(random.randint(2, 4 if self._plain else 3))]
            for goal in inline[index::26]:
                place = random.randrange(len(sentences) + 1)
                sentences.insert(place, f"{self._anchor(number, goal, prose.name(random.randint(2, 4)))},")
            parts.append(f'<p class="text">{" ".join(sentences)}</p>\n')
        parts.append('</section></main>\n<aside class="related" role="complementary"><h2>Related</h2><ul>\n')
        for goal in aside:
            text = self.titles[goal].title()
            parts.append(
                f'<li class="entry"><p>{self._anchor(number, goal, text)} '
                f'<span class="pre">{prose.name(4)}</span></p></li>\n'
            )
        parts.append(f'</ul></aside>\n<footer class="foot"><p>{prose.sentence()}</p></footer>\n</div>')
        parts.append("\n</body>\n</html>\n")
        return "".join(parts)


_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<meta name="description" content="{sentence}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta property="og:title" content="{title}"><meta property="og:type" content="article">
<link rel="stylesheet" href="/static/style.css"><link rel="stylesheet" href="/static/highlight.css">
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<style>.content p {{ margin: 0 0 1em; line-height: 1.5 }} .menu li {{ display: inline }}</style>
<script>document.documentElement.className = 'js'; var start = Date.now();</script>
<script src="/static/search.js" defer></script><script src="/static/copy-button.js" defer></script>
</head>
<body>
<div class="page"><nav class="menu" role="navigation" aria-label="Main"><ul class="toctree">
"""


def _section(index: int, prose: Prose) -> str:
    return (
        f'</section>\n<section id="part-{index}" class="level2">'
        f'<h2 id="heading-{index}" data-number="{index}">{prose.name(3).capitalize()}</h2>\n'
    )


def _code(prose: Prose) -> str:
    """Return a code sample with syntax highlighting: every token in a separate element."""
    lines = []
    for _ in range(9):
        first, second, third, fourth = prose.name(4).split()
        lines.append(
            f'<span class="n">{first}</span> <span class="o">=</span> <span class="n">{second}</span>'
            f'<span class="p">.</span><span class="nf">{third}</span><span class="p">(</span>'
            f'<span class="s2">&quot;{fourth}&quot;</span><span class="p">)</span>'
        )
    code = "\n".join(lines)
    return f'<div class="highlight-python notranslate"><div class="highlight"><pre>{code}\n</pre></div></div>\n'


def _table(prose: Prose) -> str:
    rows = "".join(
        f'<tr class="row"><td><code class="docutils literal">{prose.name(1)}</code></td><td>{prose.name(5)}</td></tr>\n'
        for _ in range(8)
    )
    return f'<table class="docutils align-default"><tbody>\n{rows}</tbody></table>\n'


def encode_response(status: bytes, body: bytes, kind: str) -> bytes:
    """Return an HTTP response."""
    head = (
        f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\nServer: bench\r\n"
        "Last-Modified: Mon, 02 Nov 2026 10:00:00 GMT\r\nCache-Control: max-age=600\r\n"
    )
    return b"HTTP/1.1 " + status + b"\r\n" + head.encode() + b"\r\n" + body


class Connection(asyncio.Protocol):
    """One client connection. It answers any number of GET requests."""

    def __init__(self, website: Website, served: list[int]) -> None:
        self._answers = website.answers
        self._served = served
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer all complete requests."""
        assert self._transport is not None
        self._rest += data
        while b"\r\n\r\n" in self._rest:
            head, _, self._rest = self._rest.partition(b"\r\n\r\n")
            self._transport.write(self._answer(head))

    def _answer(self, head: bytes) -> bytes:
        path = head.split(b" ", 2)[1]
        if path == b"/-/served":
            body = f"{len(set(self._served))} {len(self._served)}".encode()
            self._served.clear()
            return encode_response(b"200 OK", body, "text/plain")
        host = head.lower().partition(b"\nhost:")[2].partition(b"\r")[0].strip()
        response, number = self._answers.get(host + path, (None, -1))
        if response is None:
            return encode_response(b"404 Not Found", b"not here", "text/plain")
        if number >= 0:
            self._served.append(number)
        return response


def open_sockets(hosts: int, port: int) -> list[socket.socket]:
    """Return listening sockets on one port of several loopback addresses."""
    sockets: list[socket.socket] = []
    for number in range(hosts):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((f"127.0.0.{1 + number}", port))
        listener.listen(256)
        port = listener.getsockname()[1]
        sockets.append(listener)
    return sockets


async def serve(website: Website, sockets: list[socket.socket]) -> None:
    """Serve the web until the process is terminated."""
    loop = asyncio.get_running_loop()
    served: list[int] = []
    for each in sockets:
        await loop.create_server(lambda: Connection(website, served), sock=each)
    print(website.first, flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Generate and serve the web."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=1500)
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="generate prose only, with fewer elements and more words")
    options = parser.parse_args()
    sockets = open_sockets(options.hosts, options.port)
    website = Website(options.pages, options.hosts, sockets[0].getsockname()[1], plain=options.plain)
    asyncio.run(serve(website, sockets))


if __name__ == "__main__":
    main()
