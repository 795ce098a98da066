"""`topicrawl demo`: a made-up web on this machine, crawled for one topic by three strategies, side by side."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from topicrawl import strategies
from topicrawl.cli.loop import run
from topicrawl.errors import CollectionError, TopicError

if TYPE_CHECKING:
    from topicrawl.lab.sample import SampleWeb

#: The usual one, the best known one, and none.
STRATEGIES = (strategies.USUAL, "best_first", "breadth_first")


@click.command("demo")
@click.option("--topic", "name", default="dengue fever", show_default=True, help="One of the web's topics.")
@click.option("--pages", default=800, show_default=True, type=click.IntRange(10), help="Pages a strategy.")
@click.option("--out", default="demo", show_default=True, type=click.Path(path_type=Path), help="A new directory.")
def command(name: str, pages: int, out: Path) -> None:
    """Crawl a made-up web on this machine: the usual strategy beside best-first and breadth-first.

    \b
    Example:
      topicrawl demo --topic volcanoes --pages 500
    """
    from topicrawl.lab.sample import SampleWeb
    from topicrawl.lab.serve import served

    web = SampleWeb()
    if name not in web.topics:
        raise TopicError(f"the made-up web has no topic {name!r}: it has {', '.join(web.topics)}")
    _cleared(out)
    click.echo(f"A made-up web: {web.pages} pages on {len(web.hosts)} host names, {len(web.topics)} topics.")
    curves = {}
    with served(web) as local:
        asked = Asked(local, name, pages, out)
        for strategy in STRATEGIES:
            curves[strategy] = run(asked.crawled(strategy))
    _shown(curves, asked)


@dataclass(frozen=True)
class Asked:
    """One comparison."""

    web: SampleWeb
    topic: str
    pages: int
    out: Path

    @property
    def targets(self) -> frozenset[str]:
        """The pages that are truly about the topic, as whoever made the web knows."""
        return frozenset(url for url, topics in self.web.labels().items() if self.topic in topics)

    async def crawled(self, strategy: str) -> list[float]:
        """Crawl over real HTTP; returns how many of the targets were found after each page."""
        from topicrawl.plan import open_crawl
        from topicrawl.settings import Settings
        from topicrawl.topic import Topic

        settings = Settings(
            strategy=strategy, pages=self.pages, delay=0.02, concurrency=32, timeout=2.0, attempts=1, patience=5.0,
            allow_net=("127.0.0.0/8",), resolve=tuple(f"{host}=127.0.0.1" for host in self.web.hosts),
        )  # fmt: skip
        targets, begun = self.targets, time.monotonic()
        curve: list[float] = []
        words = self.web.topics[self.topic][:6]
        topic = Topic(self.topic, Topic.of(" ".join(words)).words, origin="a topic of the made-up web")
        async with open_crawl(self.out / strategy, topic, self.web.seeds(self.topic), settings) as crawl:
            async for visit in crawl.visits():
                if visit.failure is None:
                    curve.append((curve[-1] if curve else 0.0) + (visit.url in targets))
        seconds = time.monotonic() - begun
        click.echo(
            f"  {strategy:<14} {len(curve)} pages in {seconds:.1f} s, "
            f"{curve[-1] if curve else 0:.0f} of {len(targets)} pages about {self.topic}"
        )
        return curve


def _cleared(out: Path) -> None:
    """Remove an earlier demo, and only that."""
    if out.is_file():
        raise CollectionError(f"{out} is a file; name another directory with --out")
    if out.exists():
        strangers = {path.name for path in out.iterdir()} - {*STRATEGIES, "harvest.svg"}
        if strangers:
            raise CollectionError(f"{out}: holds other files ({min(strangers)}); name another directory with --out")
        shutil.rmtree(out)
    out.mkdir(parents=True)


def _shown(curves: dict[str, list[float]], asked: Asked) -> None:
    from topicrawl.lab.figures import harvest_svg, harvest_text

    title = f"Pages about {asked.topic} found"
    click.echo()
    click.echo(f"{title}, against pages fetched:")
    click.echo(harvest_text(curves, width=72, height=16))
    picture = asked.out / "harvest.svg"
    picture.write_text(harvest_svg(curves, title=title, x_label="pages fetched", y_label="found"), "utf-8")
    best = asked.out / STRATEGIES[0]
    program = "topicrawl" if shutil.which("topicrawl") else sys.argv[0]
    click.echo(f"The picture: {picture}")
    click.echo(f"What the crawl did:  {program} status {best}")
    click.echo(
        f'On the live web:     {program} crawl "dengue fever" --seed https://www.who.int/ --pages 200 --contact YOU'
    )
