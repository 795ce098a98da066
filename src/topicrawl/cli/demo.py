"""`topicrawl demo`: crawl a synthetic web on this machine with three strategies and compare them."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from topicrawl import strategies
from topicrawl.cli.event_loop import run_async
from topicrawl.database import write_text_file
from topicrawl.errors import CollectionError, TopicError

if TYPE_CHECKING:
    from topicrawl.sample_web.web import SampleWeb

#: The default strategy, the best-known focused strategy, and an unfocused baseline.
STRATEGIES = (strategies.DEFAULT_STRATEGY, "best_first", "breadth_first")


@click.command("demo")
@click.option("--topic", "name", default="dengue fever", show_default=True, help="A topic of the synthetic web.")
@click.option("--pages", default=800, show_default=True, type=click.IntRange(10), help="Pages per strategy.")
@click.option("--out", default="demo", show_default=True, type=click.Path(path_type=Path), help="A new directory.")
def demo_command(name: str, pages: int, out: Path) -> None:
    """Crawl a synthetic web on this machine with the default strategy, best-first and breadth-first.

    \b
    Example:
      topicrawl demo --topic volcanoes --pages 500
    """
    from topicrawl.sample_web.server import serve_in_subprocess
    from topicrawl.sample_web.web import SampleWeb

    web = SampleWeb()
    if name not in web.topics:
        raise TopicError(f"the synthetic web has no topic {name!r}: choose one of {', '.join(web.topics)}")
    _prepare_directory(out)
    click.echo(f"A synthetic web: {web.pages} pages on {len(web.hosts)} host names, {len(web.topics)} topics.")
    curves = {}
    with serve_in_subprocess(web) as local:
        comparison = DemoComparison(local, name, pages, out)
        for strategy in STRATEGIES:
            curves[strategy] = run_async(comparison.run_strategy(strategy))
    _print_comparison(curves, comparison)


@dataclass(frozen=True)
class DemoComparison:
    """Comparison of strategies on one topic of a synthetic web."""

    web: SampleWeb
    topic: str
    pages: int
    out: Path

    @property
    def targets(self) -> frozenset[str]:
        """URLs of the pages on the topic, from the labels of the synthetic web."""
        return frozenset(url for url, topics in self.web.get_labels().items() if self.topic in topics)

    async def run_strategy(self, strategy: str) -> list[float]:
        """Crawl over real HTTP and return the number of targets found after each page."""
        from topicrawl.builder.crawls import open_crawl
        from topicrawl.settings import Settings
        from topicrawl.topic import Topic

        settings = Settings(
            strategy=strategy,
            pages=self.pages,
            delay=0.02,
            concurrency=32,
            timeout=2.0,
            attempts=1,
            patience=5.0,
            allow_net=("127.0.0.0/8",),
            resolve=tuple(f"{host}=127.0.0.1" for host in self.web.hosts),
        )
        targets, begun = self.targets, time.monotonic()
        curve: list[float] = []
        words = self.web.topics[self.topic][:6]
        topic = Topic(self.topic, Topic.of(" ".join(words)).words, origin="a topic of the synthetic web")
        async with open_crawl(self.out / strategy, topic, self.web.get_seeds(self.topic), settings) as crawl:
            async for visit in crawl.visits():
                if visit.failure is None:
                    curve.append((curve[-1] if curve else 0.0) + (visit.url in targets))
        seconds = time.monotonic() - begun
        click.echo(
            f"  {strategy:<14} {len(curve)} pages in {seconds:.1f} s, "
            f"{curve[-1] if curve else 0:.0f} of {len(targets)} pages about {self.topic}"
        )
        return curve


def _prepare_directory(out: Path) -> None:
    """Create the directory and remove an earlier demo; refuse a directory with other files."""
    if out.is_file():
        raise CollectionError(f"{out} is a file; give another directory with --out")
    if out.exists():
        other_files = {path.name for path in out.iterdir()} - {*STRATEGIES, "harvest.svg"}
        if other_files:
            raise CollectionError(f"{out} contains other files ({min(other_files)}); give another directory with --out")
        shutil.rmtree(out)
    out.mkdir(parents=True)


def _print_comparison(curves: dict[str, list[float]], comparison: DemoComparison) -> None:
    from topicrawl.lab.report.harvest_curve import render_harvest_svg, render_harvest_text

    title = f"Pages about {comparison.topic} found"
    click.echo()
    click.echo(f"{title}, by number of pages fetched:")
    click.echo(render_harvest_text(curves, width=72, height=16))
    picture = comparison.out / "harvest.svg"
    write_text_file(picture, render_harvest_svg(curves, title=title, x_label="pages fetched", y_label="found"))
    best = comparison.out / STRATEGIES[0]
    program = "topicrawl" if shutil.which("topicrawl") else sys.argv[0]
    click.echo(f"Chart:                  {picture}")
    click.echo(f"Status of the crawl:    {program} status {best}")
    click.echo(
        f'Crawl on the live web:  {program} crawl "dengue fever" --seed https://www.who.int/ --pages 200 --contact YOU'
    )
