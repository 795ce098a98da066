"""Clock that never runs backwards, based on a clock that may be set back."""

from __future__ import annotations

from collections.abc import Callable


class MonotonicClock:
    """Monotonic view of a wall clock. When the wall clock is set back, time continues from the last value.

    >>> times = iter([100.0, 40.0, 45.0])
    >>> steady = MonotonicClock(lambda: next(times))
    >>> steady.now(), steady.now(), steady.now(), steady.to_external(106.0)
    (100.0, 100.0, 105.0, 46.0)
    """

    __slots__ = ("_clock", "_last_time", "last_external", "offset")

    def __init__(
        self, clock: Callable[[], float], *, offset: float = 0.0, last_external: float = float("-inf")
    ) -> None:
        self._clock = clock
        self._last_time = float("-inf")
        self.offset = offset  # total seconds by which the external clock was set back
        self.last_external = last_external  # last reading of the external clock

    def now(self) -> float:
        """Return the monotonic time in seconds. It equals the external clock until that clock is set back."""
        time = self._clock()
        if time < self.last_external:
            self.offset += self.last_external - time
        self.last_external = time
        # Float sums are rounded, so the maximum guarantees that time does not decrease.
        self._last_time = max(self._last_time, time + self.offset)
        return self._last_time

    def to_internal(self, time: float) -> float:
        """Convert a time of the external clock to monotonic time."""
        return time + self.offset

    def to_external(self, time: float) -> float:
        """Convert a monotonic time to a time of the external clock."""
        return time - self.offset
