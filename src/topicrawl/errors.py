"""Exceptions that Topicrawl raises, with the exit codes of the command.

Failed fetches (an unreachable host, a page that robots.txt forbids, a page that is too large) are not exceptions: they
are values of `Visit.failure`. Exceptions report configuration, storage and programming errors.

    TopicrawlError            exit code 1
    ├── UsageError            2   invalid options or arguments
    │   ├── TopicError            a topic without words, or an invalid topic file
    │   ├── SeedError             a seed that is not an http or https URL
    │   ├── StrategyError         an unknown strategy or parameter, or a missing input
    │   ├── SettingError          a setting that is unknown, out of range or contradicts the collection
    │   │   └── IdentityError     a directory that contains a crawl with another topic, strategy, …
    │   └── PluginError           a strategy, judge or embedding of the user that failed
    ├── CollectionError       3   the directory is not a collection, is in use, or has a newer format
    │   ├── DamagedError          stored data that cannot be read back
    │   │   └── IncompleteFileError   a database file that was not created completely
    │   ├── ForeignFileError      a file of another program
    │   ├── InUseError            a directory or file that another process has locked
    │   └── NewerFormatError      a file of a newer version of Topicrawl
    ├── RecordingError        3   a recorded web that is missing or unreadable
    ├── ClusterError          3   the shared Redis server does not answer, or does not contain the crawl
    │   └── WipedError        6   the server has lost the crawl, and with it the links that were still waiting
    ├── SpaceError            4   no disk space left
    └── ResourceError         4   too little memory or too few file descriptors

>>> issubclass(TopicError, UsageError), DamagedError("x").exit_code
(True, 3)
"""

from __future__ import annotations

import errno
import re

# A path may have lost a slash of `http://`, and a password may contain a slash. `http://host:8080/@name` has a port.
_URL_PASSWORD = re.compile(r"""((?://|[a-z]:/)[^/\s:@"']*):(?!\d{1,5}/)[^\s"']+@""")
# The same without a scheme, as in `me:secret@host`.
_BARE_PASSWORD = re.compile(r"""((?:^|[\s"'=(])[^\s:/@"'=(]+):[^\s/@"']+@(?=[\w\[])""")
# Some sites put access tokens into links. The token gives access to the account, so it must not be printed.
_URL_TOKEN = re.compile(
    r"""([?&](?:[\w-]*[_-])?(?:token|api_?key|password|passwd|secret|signature)=)[^&#\s"']+""", re.I
)


def mask_secrets(text: str) -> str:
    """Replace the passwords and tokens in the URLs of a text by asterisks.

    >>> mask_secrets("no answer from http://me:secret@proxy.example:3128/ and redis://:x@r/0")
    'no answer from http://me:***@proxy.example:3128/ and redis://:***@r/0'
    >>> mask_secrets("failed http://a.example/?page=2&access_token=f81d4fae#top: not_found")
    'failed http://a.example/?page=2&access_token=***#top: not_found'
    >>> mask_secrets("me:secret@a.example is not a web address, nor is http://a.example:80/@name")
    'me:***@a.example is not a web address, nor is http://a.example:80/@name'
    """
    if "@" in text:
        text = _BARE_PASSWORD.sub(r"\1:***@", _URL_PASSWORD.sub(r"\1:***@", text))
    return _URL_TOKEN.sub(r"\1***", text)


class TopicrawlError(Exception):
    """Base class. The message is one line that says what failed, where, and what to do. It contains no password."""

    exit_code = 1

    def __str__(self) -> str:
        return mask_secrets(super().__str__())


class UsageError(TopicrawlError):
    """Invalid options or arguments."""

    exit_code = 2


class TopicError(UsageError):
    """A topic without words, or an invalid topic file."""


class SeedError(UsageError):
    """A seed that is not an http or https URL."""


class StrategyError(UsageError):
    """An unknown strategy or strategy parameter, or a missing input."""


class SettingError(UsageError):
    """A setting that is unknown, out of range or contradicts the collection."""


class IdentityError(SettingError):
    """A directory that contains a crawl with another topic, strategy, judge or embedding.

    `difference` names both values.
    """

    def __init__(self, message: str, difference: str) -> None:
        super().__init__(message)
        self.difference = difference


class PluginError(UsageError):
    """A strategy or judge of the user that raised an exception, or an embedding that failed."""


class CollectionError(TopicrawlError):
    """The directory is not a collection, is in use, or has a newer format."""

    exit_code = 3


class DamagedError(CollectionError):
    """Stored data that cannot be read back."""


class IncompleteFileError(DamagedError):
    """A database file that was not created completely and contains nothing."""


class ForeignFileError(CollectionError):
    """A file of another program."""


class InUseError(CollectionError):
    """A directory or file that another process has locked."""


class NewerFormatError(CollectionError):
    """A file of a newer version of Topicrawl."""


class RecordingError(TopicrawlError):
    """A recorded web that is missing or unreadable."""

    exit_code = 3


class SpaceError(TopicrawlError):
    """No disk space left."""

    exit_code = 4


class ResourceError(TopicrawlError):
    """Too little memory or too few file descriptors."""

    exit_code = 4


class ClusterError(TopicrawlError):
    """The Redis server that the workers share does not answer, or does not contain the crawl."""

    exit_code = 3


class WipedError(ClusterError):
    """The Redis server has lost the crawl, and with it the links that were still waiting."""

    exit_code = 6


def find_resource_error(error: BaseException | None) -> ResourceError | None:
    """Return the `ResourceError` for an exception that a lack of memory or file descriptors caused, otherwise None.

    The causes of the exception are checked too.

    >>> str(find_resource_error(MemoryError()))
    'not enough memory: free some memory, or raise the limit (ulimit -v), and run the same command again'
    >>> find_resource_error(OSError(errno.ENOENT, "No such file or directory")) is None
    True
    """
    while error is not None:
        number = error.errno if isinstance(error, OSError) else None
        if isinstance(error, MemoryError) or number == errno.ENOMEM:
            return ResourceError(
                "not enough memory: free some memory, or raise the limit (ulimit -v), and run the same command again"
            )
        if number in (errno.EMFILE, errno.ENFILE):
            return ResourceError("too many open files: raise the limit (ulimit -n 1024) and run the same command again")
        error = error.__cause__
    return None
