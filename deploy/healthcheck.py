"""Health check of the container: succeed if the metrics server or the web application of this container answers."""

import sys
from http.client import HTTPConnection, HTTPException

PORTS = {9400: "/health", 8321: "/"}  # `crawl` and `worker`; `serve`


def answers(port: int, path: str) -> bool:
    """Return whether a server answers on a port with any status below 500."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 500
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(0 if any(answers(port, path) for port, path in PORTS.items()) else 1)
