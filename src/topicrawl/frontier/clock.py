"""Time that never runs backwards, from a clock that may."""

from __future__ import annotations

from collections.abc import Callable


class Steady:
    """Follows a clock, and goes on from where it was when the clock is set back.

    >>> times = iter([100.0, 40.0, 45.0])
    >>> steady = Steady(lambda: next(times))
    >>> steady.now(), steady.now(), steady.now(), steady.outside(106.0)
    (100.0, 100.0, 105.0, 46.0)
    """

    __slots__ = ("_clock", "_inner", "offset", "outer")

    def __init__(self, clock: Callable[[], float], *, offset: float = 0.0, outer: float = float("-inf")) -> None:
        self._clock = clock
        self._inner = float("-inf")
        self.offset = offset  # how far the outer clock has been set back in all
        self.outer = outer  # what it showed last

    def now(self) -> float:
        """Seconds on this clock; equal to the outer clock's until that is set back."""
        time = self._clock()
        if time < self.outer:
            self.offset += self.outer - time
        self.outer = time
        # Sums of floats round, and a moment must not come before an earlier one.
        self._inner = max(self._inner, time + self.offset)
        return self._inner

    def inside(self, time: float) -> float:
        """A moment of the outer clock on this one."""
        return time + self.offset

    def outside(self, time: float) -> float:
        """A moment of this clock on the outer one."""
        return time - self.offset
