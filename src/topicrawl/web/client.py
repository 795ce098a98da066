"""Python client of the JSON API of `topicrawl serve`. It needs only the standard library."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from topicrawl.errors import TopicrawlError, UsageError

_MAX_ERROR_BYTES = 64 * 1024


class _NoRedirects(HTTPRedirectHandler):
    """Handler that treats a redirect as an error: the token must not be sent to another host."""

    def redirect_request(self, *args: Any) -> None:
        """Return None, so that the redirect is not followed."""


# The variables http_proxy and https_proxy are ignored, as in all commands.
_OPENER = build_opener(ProxyHandler({}), _NoRedirects())


class ServerResponseError(TopicrawlError):
    """A request to a Topicrawl server failed. `status` is the HTTP status, 0 if the server did not answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class TopicrawlClient:
    """Client of one server: `TopicrawlClient("http://127.0.0.1:8321", token="…").search("dengue fever")`.

    The token is the one that `topicrawl serve --token` prints. The methods return the JSON objects that the server
    describes at /api/openapi.json, and raise `ServerResponseError` with the message of the server.
    """

    def __init__(self, address: str, *, token: str = "", timeout: float = 60.0) -> None:
        if not address.startswith(("http://", "https://")):
            raise UsageError(f"{address!r} is not the address of a server: write it as http://127.0.0.1:8321")
        self._address = address.rstrip("/")
        self._headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        self._timeout = timeout

    def list_collections(self) -> list[dict[str, Any]]:
        """Return the figures of all collections."""
        return list(self._get("/api/collections")["collections"])

    def get_collection(self, name: str) -> dict[str, Any]:
        """Return the figures, failures and hosts of a collection."""
        return self._get(_collection_path(name))

    def start_crawl(self, words: str, seeds: Sequence[str], *, pages: int = 1000, strategy: str = "") -> str:
        """Start a crawl and return the name of its collection."""
        fields: dict[str, object] = {"words": words, "seeds": list(seeds), "pages": pages}
        if strategy:
            fields["strategy"] = strategy
        return str(self._post("/api/crawls", fields)["name"])

    def resume_crawl(self, name: str, *, pages: int | None = None) -> None:
        """Resume a stopped crawl, with a new page limit if one is given."""
        self._post(f"{_collection_path(name)}/start", {} if pages is None else {"pages": pages})

    def stop_crawl(self, name: str) -> None:
        """Stop a running crawl. It completes its running fetches first."""
        self.send_command(name, "stop")

    def send_command(self, name: str, kind: str, target: str = "", amount: float = 1.0) -> list[int]:
        """Steer a crawl and return the numbers of the commands.

        `kind` is seed, word, block, boost, pause, resume or stop.
        """
        fields = {"kind": kind, "target": target, "amount": amount}
        return list(self._post(f"{_collection_path(name)}/orders", fields)["orders"])

    def add_verdict(self, name: str, urls: Sequence[str], verdict: str) -> None:
        """Add a verdict on pages: relevant, irrelevant or unsure."""
        self._post(f"{_collection_path(name)}/verdicts", {"urls": list(urls), "verdict": verdict})

    def search(self, query: str, *, count: int = 10, offset: int = 0) -> dict[str, Any]:
        """Search all collections."""
        return self._get("/api/search", q=query, count=count, offset=offset)

    def list_pages(self, name: str, *, count: int = 50, before: int = 0) -> list[dict[str, Any]]:
        """Return pages of a collection, newest first; `before` is the step of the last page of the previous call."""
        return list(self._get(f"{_collection_path(name)}/pages", count=count, before=before)["pages"])

    def get_page(self, name: str, url: str) -> dict[str, Any]:
        """Return the text of a page, and the path from a seed to it."""
        return self._get(f"{_collection_path(name)}/page", url=url)

    def export_pages(self, name: str, path: Path, *, format: str = "jsonl", everything: bool = False) -> Path:
        """Export the relevant pages, or all, as jsonl, csv, parquet or warc, and download the file to `path`.

        The file gets its name when it is complete.
        """
        query = urlencode({"format": format, "all": int(everything)})
        partial = path.with_name(f"{path.name}.part")
        request = Request(f"{self._address}{_collection_path(name)}/export?{query}", headers=self._headers)
        try:
            with self._open(request) as response, partial.open("wb") as file:
                shutil.copyfileobj(response, file)
        except (OSError, HTTPException) as error:
            partial.unlink(missing_ok=True)
            raise ServerResponseError(f"the export of {name} could not be downloaded: {error}") from error
        partial.replace(path)
        return path

    def _get(self, path: str, **query: object) -> dict[str, Any]:
        text = f"?{urlencode(query)}" if query else ""
        return self._load_json(Request(f"{self._address}{path}{text}", headers=self._headers))

    def _post(self, path: str, fields: Mapping[str, object]) -> dict[str, Any]:
        headers = {**self._headers, "Content-Type": "application/json"}
        return self._load_json(Request(f"{self._address}{path}", json.dumps(fields).encode(), headers))

    def _load_json(self, request: Request) -> dict[str, Any]:
        """Send a request and return the JSON object of the response."""
        with self._open(request) as response:
            try:
                value = json.load(response)
            except (ValueError, OSError, HTTPException) as error:
                raise ServerResponseError(f"{self._address} did not answer with JSON: {error}") from error
        if not isinstance(value, dict):
            raise ServerResponseError(f"{self._address} is not a Topicrawl server")
        return value

    def _open(self, request: Request) -> HTTPResponse:
        """Send a request. Raise `ServerResponseError` for an error status, or if the server does not answer."""
        try:
            response: HTTPResponse = _OPENER.open(request, timeout=self._timeout)
            return response
        except HTTPError as error:
            with error:
                raise ServerResponseError(_read_message(error), error.code) from error
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise ServerResponseError(f"{self._address} does not answer: {reason}") from error


def _collection_path(name: str) -> str:
    return f"/api/collections/{quote(name, safe='')}"


def _read_message(error: HTTPError) -> str:
    """Return the message in the body of an error response, or its status."""
    try:
        value = json.loads(error.read(_MAX_ERROR_BYTES))
    except (ValueError, OSError, HTTPException):
        value = None
    return str(value["error"]) if isinstance(value, dict) and "error" in value else f"status {error.code}"
