"""API for crawls on other servers that send the URLs of relevant pages (Kluev 2000, section 3)."""

from __future__ import annotations

from time import time

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from topicrawl.builder.stored_settings import load_topic_and_settings
from topicrawl.collection import commands
from topicrawl.collection.commands import CommandKind
from topicrawl.errors import UsageError
from topicrawl.web.api import JsonBody, json_endpoint
from topicrawl.web.site import Site

_MAX_WAITING = 10_000  # maximum number of commands that wait for a crawl


@json_endpoint
def add_shared_urls(site: Site, request: Request, body: JsonBody) -> Response:
    """Add URLs from a crawl on another server as seeds. Return the topic, so that the sender can choose the URLs.

    An empty list of URLs only returns the topic. URLs of pages that the collection contains are ignored. A running
    crawl adds the URLs at once, if its rules allow them, and another one when it is resumed.
    """
    name = request.path_params["name"]
    topic, settings = load_topic_and_settings(site.collections.get_directory(name), {})
    if not settings.cooperate:
        raise UsageError(f"the crawl {name} does not exchange URLs (--no-cooperate)")
    added = 0
    if body.fields.get("urls") != []:
        urls = body.get_urls("urls")
        with site.collections.open_store(name) as store:
            waiting = {row.target for row in commands.list_commands(store) if row.kind == CommandKind.SEED}
            new = [url for url in dict.fromkeys(urls) if url not in waiting and store.find_visit(url) is None]
            for url in new[: max(0, _MAX_WAITING - len(waiting))]:
                commands.add_command(store, CommandKind.SEED, url, at=time())
                added += 1
    return JSONResponse({"topic": topic.to_toml(), "added": added})
