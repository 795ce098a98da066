"""Every error Topicrawl raises on purpose.

Failures of the web (a dead host, a refused robots.txt, a page that is too large) are not errors: they
are named values in `Visit.failure`. Exceptions are for mistakes of configuration, storage and programming.

    TopicrawlError            exit code 1
    ├── UsageError            2   what the user asked for cannot be done as asked
    │   ├── TopicError            a topic without words, a topic file that does not parse
    │   ├── SeedError             a seed that is not a web address
    │   ├── StrategyError         an unknown strategy or parameter, or missing input for one
    │   └── SettingError          a setting that is unknown, out of range or contradicts the collection
    ├── CollectionError       3   the directory is not ours, is in use, or is of a newer version
    │   └── DamagedError          stored data that does not read back
    ├── RecordingError        3   a recorded web that is missing or cannot be read
    ├── ClusterError          3   the server that workers share does not answer, or knows no such crawl
    │   └── WipedError        6   it has forgotten the crawl: what was still to be fetched is not known any more
    └── SpaceError            4   no space left to write

>>> issubclass(TopicError, UsageError), DamagedError("x").exit_code
(True, 3)
"""


class TopicrawlError(Exception):
    """The root; its message is one line that says what, where, and what to do."""

    exit_code = 1


class UsageError(TopicrawlError):
    """What the user asked for cannot be done as asked."""

    exit_code = 2


class TopicError(UsageError):
    """A topic without words, or a topic file that does not parse."""


class SeedError(UsageError):
    """A seed that is not a web address."""


class StrategyError(UsageError):
    """An unknown strategy or parameter, or missing input for one."""


class SettingError(UsageError):
    """A setting that is unknown, out of range or contradicts the collection."""


class CollectionError(TopicrawlError):
    """The directory is not ours, is in use, or is of a newer version."""

    exit_code = 3


class DamagedError(CollectionError):
    """Stored data that does not read back."""


class RecordingError(TopicrawlError):
    """A recorded web that is missing or cannot be read."""

    exit_code = 3


class SpaceError(TopicrawlError):
    """No space left to write."""

    exit_code = 4


class ClusterError(TopicrawlError):
    """The server that workers share does not answer, or knows no such crawl."""

    exit_code = 3


class WipedError(ClusterError):
    """The server has forgotten the crawl: what was still to be fetched is not known any more."""

    exit_code = 6
