"""The tasks that run beside a crawl to cooperate with users, other workers and other servers."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from topicrawl.builder.base_components import BaseComponents
from topicrawl.cluster.remote_url_sharing import RemoteUrlSharing
from topicrawl.engine.crawl import Crawl
from topicrawl.engine.http_setup import build_http_settings
from topicrawl.engine.steering import Steering, create_steering
from topicrawl.settings import Settings


@asynccontextmanager
async def run_steering(base: BaseComponents, crawl: Crawl) -> AsyncIterator[Steering]:
    """Apply steering commands while the block runs. In a shared crawl, also send heartbeats."""
    session, collection = base.storage.session, base.storage.collection
    if session is None:
        async with create_steering(collection, crawl) as steering:
            yield steering
    else:
        async with session.create_steering(collection, crawl) as shared_steering, session.keep_alive(crawl):
            yield shared_steering


def build_url_sharing(crawl: Crawl, settings: Settings) -> RemoteUrlSharing:
    """Build the URL sharing with crawls on other servers."""
    token = os.environ.get("TOPICRAWL_TOKEN", "")
    name = crawl.context.strategy.context.topic.name
    return RemoteUrlSharing(crawl, settings.share_with, build_http_settings(settings), name=name, token=token)
