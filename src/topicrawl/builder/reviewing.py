"""The language model that reviews uncertain pages during a crawl."""

from __future__ import annotations

import dataclasses
import logging
import os

from topicrawl.builder.base_components import BaseComponents
from topicrawl.collection.reviewer_log import CallPrices, ReviewerLog
from topicrawl.collection.store import CollectionStore
from topicrawl.engine.crawl import Crawl
from topicrawl.engine.http_setup import build_http_settings
from topicrawl.engine.review_prompt import MAX_REPLY_TOKENS
from topicrawl.engine.reviewer import Reviewer
from topicrawl.engine.steering import Steering
from topicrawl.errors import SettingError
from topicrawl.fetch.chat_client import ChatClient, is_local_host
from topicrawl.settings import Settings
from topicrawl.urls import canonicalize_url

log = logging.getLogger("topicrawl")

_REVIEWER_TIMEOUT = 120.0  # seconds of one call to the reviewer; a model on the same machine may be slow


def get_reviewer_key() -> str:
    """Return the API key of the reviewer from the environment; empty if the endpoint needs none.

    The key is never stored. Raise `SettingError` for an invalid key.
    """
    key = os.environ.get("TOPICRAWL_REVIEWER_KEY", "").strip()
    if not key.isascii() or not key.isprintable():
        raise SettingError("TOPICRAWL_REVIEWER_KEY is not a key: it is sent in a header, so use one line of ASCII text")
    return key


def build_reviewer_log(settings: Settings, store: CollectionStore) -> ReviewerLog:
    """Build the log of the calls to the reviewer, which also limits their number."""
    prices = CallPrices(settings.reviewer_price_in, settings.reviewer_price_out)
    return ReviewerLog(store, limit=settings.reviewer_calls, prices=prices)


def build_reviewer(base: BaseComponents, crawl: Crawl, steering: Steering, *, key: str) -> Reviewer:
    """Build the language-model reviewer. `key` is its API key."""
    settings, context = base.settings, crawl.context
    url = canonicalize_url(settings.reviewer)
    assert context.reviewer_log is not None
    assert url is not None  # `Settings` rejects other values
    if key and url.startswith("http:") and not is_local_host(url):
        log.warning("the reviewer has no TLS: its API key and the texts of pages are sent to it unencrypted")
    chat = ChatClient(
        url,
        settings.reviewer_model,
        key=key,
        max_tokens=MAX_REPLY_TOKENS,
        settings=dataclasses.replace(build_http_settings(settings), total_timeout=_REVIEWER_TIMEOUT),
    )
    return Reviewer(
        chat,
        context.reviewer_log,
        base.storage.collection,
        base.learners.strategy.context.topic,
        context.relevance,
        context.parse,
        added_words=steering.user_feedback.words,
        on_annotation=steering.request_update,
    )
