"""Digest of a small sample web, for tests that compute it in a subprocess."""

from __future__ import annotations

import hashlib
import sys

from topicrawl.sample_web.web import SampleWeb


def print_digest() -> None:
    """Write a digest of the hosts, labels, topics, seeds and some pages of a sample web."""
    web = SampleWeb(seed=5, pages=1000, hosts=40)
    digest = hashlib.sha256(repr((web.hosts, web.get_labels(), web.topics, web.get_seeds("chess"))).encode())
    for number in range(0, 1000, 7):
        digest.update(repr(web.get_response(web.page_url(number))).encode())
    sys.stdout.write(f"{digest.hexdigest()}\n")
