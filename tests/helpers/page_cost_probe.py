"""Write CPU seconds, peak memory and number of words for every page of `site/amplification.py`, as JSON lines.

python page_cost_probe.py     each page is processed in a fork of this process, as a crawl would: parse, judge, score
"""

from __future__ import annotations

import json
import os
import resource
import time
from random import Random

from tests.helpers.site.amplification import SOURCES, build_page

from topicrawl.models import Link, Page, Priority, Response, Visit
from topicrawl.parse import parse_response
from topicrawl.parse.parser_cache import ParserCache
from topicrawl.relevance.topic_judge import TopicJudge
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import create_strategy
from topicrawl.strategies.base import StrategyContext
from topicrawl.topic import Topic

URL = "http://e.example/"
_KILOBYTE = 1024


def process_page(body: bytes, content_type: str) -> dict[str, float]:
    """Process a page like a crawl, and return its costs."""
    topic = Topic.of("dengue fever")
    vsm = Vsm(topic, ParserCache().vocabularies)
    judge, strategy = TopicJudge(vsm), create_strategy("apprentice")
    strategy.bind(StrategyContext(topic, vsm, Random(0)))
    response = Response(URL, URL, 200, {"content-type": content_type}, body)
    started = time.process_time()
    page = parse_response(response, Link(URL), context=strategy.link_context)
    parsed = time.process_time()
    assert isinstance(page, Page)
    visit = Visit(1, Link(URL), Priority(0.5), URL, page, judge.score(page))
    judge.observe(page)
    strategy.learn(visit)
    strategy.score_links(page.links, visit)
    strategy.rescore()
    ended = time.process_time()
    parse_response(response, Link(URL), styles=True)
    styled = time.process_time() - ended
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _KILOBYTE
    return {
        "parse": parsed - started,
        "judge": ended - parsed,
        "styles": styled,
        "megabytes": megabytes,
        "words": len(page.words),
    }


def main() -> None:
    """Process every page in a fork, so that the memory of one page does not count for the next."""
    # Load the models once.
    process_page(b"<p>dengue fever " * 50, "text/html")
    for name in SOURCES:
        pid = os.fork()
        if pid == 0:
            line = json.dumps({"name": name, **process_page(*build_page(name))})
            os.write(1, f"{line}\n".encode())
            os._exit(0)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
