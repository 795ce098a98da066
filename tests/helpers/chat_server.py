"""A chat completions server on loopback in place of a language model. It checks the format of every request."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import Any

MODEL = "test-model"
TOKENS_IN, TOKENS_OUT = 700, 30
_PATIENCE = 60.0  # seconds after which a wait fails


@dataclass(frozen=True)
class ChatRequest:
    """A request that the server received."""

    path: str
    headers: Mapping[str, str]  # names in lower case
    body: dict[str, Any]
    at: float  # time.monotonic()

    @property
    def instructions(self) -> str:
        """The system message."""
        return str(self.body["messages"][0]["content"])

    @property
    def prompt(self) -> str:
        """The user message."""
        return str(self.body["messages"][1]["content"])

    @property
    def page(self) -> str:
        """The text between the delimiters of the page."""
        found = re.findall(r"<page-([0-9a-f]{16})>\n(.*)\n</page-\1>\n", self.prompt, re.S)
        assert len(found) == 1, self.prompt
        return str(found[0][1])

    @property
    def url(self) -> str:
        """URL of the page."""
        return self.page.partition("\n")[0].removeprefix("URL: ")


@dataclass(frozen=True)
class ChatAnswer:
    """A response of the server."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


AnswerFunction = Callable[[ChatRequest], ChatAnswer]


def make_completion(text: str) -> ChatAnswer:
    """Return a chat completion with a text."""
    table = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": MODEL,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": TOKENS_IN,
            "completion_tokens": TOKENS_OUT,
            "total_tokens": TOKENS_IN + TOKENS_OUT,
        },
    }
    return ChatAnswer(json.dumps(table).encode())


def make_verdict(relevant: bool, confidence: float = 0.9, reason: str = "because") -> ChatAnswer:
    """Return a chat completion with a verdict."""
    return make_completion(json.dumps({"relevant": relevant, "confidence": confidence, "reason": reason}))


def make_error(status: int, **headers: str) -> ChatAnswer:
    """Return an error response."""
    body = json.dumps({"error": {"message": "no", "type": "error"}}).encode()
    return ChatAnswer(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


class ChatServer:
    """The state of the server: its base URL and the requests so far."""

    def __init__(self, answer: AnswerFunction) -> None:
        self.answer = answer
        self.requests: list[ChatRequest] = []
        self.problems: list[str] = []  # violations of the protocol
        self.port = 0
        self._arrival = threading.Condition()

    @property
    def url(self) -> str:
        """Base URL of the API."""
        return f"http://127.0.0.1:{self.port}/v1"

    def list_urls(self) -> list[str]:
        """Return the URLs of the pages in the requests, in order."""
        return [request.url for request in self.requests]

    def add_request(self, request: ChatRequest) -> None:
        """Record a request and check its format."""
        self.problems += find_problems(request)
        with self._arrival:
            self.requests.append(request)
            self._arrival.notify_all()

    def wait_for_requests(self, count: int) -> None:
        """Block the calling thread until the server has received a number of requests."""
        with self._arrival:
            assert self._arrival.wait_for(lambda: len(self.requests) >= count, _PATIENCE), "too few requests"


def find_problems(request: ChatRequest) -> list[str]:
    """Return the violations of the chat completions protocol, and of the promises about prompts."""
    body, problems = request.body, []
    if request.path != "/v1/chat/completions":
        problems.append(f"path {request.path}")
    if request.headers.get("content-type") != "application/json":
        problems.append(f"content type {request.headers.get('content-type')}")
    if body.get("model") != MODEL or body.get("temperature") != 0 or body.get("stream") is not False:
        problems.append(f"parameters {body}")
    if not 0 < int(body.get("max_tokens", 0)) <= 300:
        problems.append("max_tokens")
    messages = body.get("messages", [])
    if [message.get("role") for message in messages] != ["system", "user"]:
        problems.append(f"roles {messages}")
    elif len(request.prompt) > 6000:
        problems.append(f"a prompt of {len(request.prompt)} characters")
    return problems


@contextmanager
def serve_chat(answer: AnswerFunction) -> Iterator[ChatServer]:
    """Start the server in a thread. At the end, check that all requests were well-formed."""
    chat = ChatServer(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = ChatRequest(self.path, headers, body, monotonic())
            chat.add_request(request)
            reply = chat.answer(request)
            self.send_response(reply.status)
            fields = {"Content-Type": "application/json", **reply.headers, "Content-Length": str(len(reply.body))}
            for name, value in fields.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, format: str, *values: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Ignore clients that have disconnected."""

    server = Server(("127.0.0.1", 0), Handler)
    chat.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield chat
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert chat.problems == []
