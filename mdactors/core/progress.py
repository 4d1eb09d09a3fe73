"""How fast a running attempt is, from where it stood and when."""

from __future__ import annotations

from collections import deque

SECONDS_PER_DAY = 86_400.0
WINDOW = 60.0
"""Seconds of the past that count: start-up and tuning are forgotten, noise is smoothed."""


class Pace:
    """Steps over monotonic time, within a moving window."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, int]] = deque()

    def note(self, now: float, step: int) -> None:
        """Remember that `step` was reached by `now` (monotonic seconds); a step seen before says nothing new."""
        if self._points and step <= self._points[-1][1]:
            return
        self._points.append((now, step))
        while len(self._points) > 2 and now - self._points[1][0] > WINDOW:
            self._points.popleft()

    @property
    def steps_per_second(self) -> float | None:
        """Steps a second; None until two different steps were seen."""
        if len(self._points) < 2:
            return None
        (start, first), (end, last) = self._points[0], self._points[-1]
        return (last - first) / (end - start) if end > start else None

    def ns_per_day(self, timestep_ps: float | None) -> float | None:
        """Nanoseconds a day at this pace: steps/s × ps/step × 86,400 / 1,000."""
        if timestep_ps is None or self.steps_per_second is None:
            return None
        return self.steps_per_second * timestep_ps * SECONDS_PER_DAY / 1000.0

    def seconds_left(self, steps_asked: int | None) -> float | None:
        """Seconds until `steps_asked` at this pace; None where either is not known."""
        if steps_asked is None or not self.steps_per_second:
            return None
        return max(0.0, (steps_asked - self._points[-1][1]) / self.steps_per_second)
