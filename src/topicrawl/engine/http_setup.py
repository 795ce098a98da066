"""Settings of the HTTP client for a crawl."""

from __future__ import annotations

from topicrawl.documents.file_types import DOCUMENT_SUFFIXES, DOCUMENT_TYPES
from topicrawl.fetch.guard import parse_networks
from topicrawl.fetch.http_settings import HttpSettings
from topicrawl.settings import Settings


def build_http_settings(settings: Settings) -> HttpSettings:
    """Return the settings of the HTTP client for the settings of a crawl.

    The client accepts the media types that the parsers read, those of documents, and other types by their first bytes.
    """
    return HttpSettings(
        contact=settings.contact,
        total_timeout=settings.timeout,
        max_bytes=settings.max_bytes,
        proxy=settings.proxy,
        document_types=DOCUMENT_TYPES if settings.documents else frozenset(),
        document_suffixes=DOCUMENT_SUFFIXES if settings.documents else (),
        detects_types=True,
        reads_feeds=settings.sitemaps,
        max_connections=settings.concurrency * 2,
        allowed_networks=parse_networks(settings.allow_net),
        host_overrides=settings.parse_fixed_addresses(),
    )
