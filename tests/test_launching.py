"""Workers on Ray: those that die come again, those that have finished do not, and no password goes there."""

from __future__ import annotations

from typing import Any

import pytest

from topicrawl.errors import ClusterError, SettingError
from topicrawl.launching import Launch, Outcome, launched, on_ray


class PretendRay:
    """As much of Ray as the launcher uses; what comes of tasks is given. Everything runs at once."""

    class exceptions:
        RayError = OSError

    def __init__(self, *outcomes: Outcome | Exception) -> None:
        self.outcomes = list(outcomes)
        self.asked: list[object] = []
        self.called_off: list[object] = []

    def remote(self, *given: object) -> Any:
        if callable(given[0]):
            return self
        self.asked.append(given)
        return len(self.asked)

    def options(self, **options: object) -> PretendRay:
        self.chosen = options
        return self

    def wait(self, tasks: list[int], **limits: object) -> tuple[list[int], list[int]]:
        return [task for task in tasks if task <= len(self.outcomes)], []

    def get(self, task: int) -> Outcome:
        outcome = self.outcomes[task - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def cancel(self, task: object, *, force: bool) -> None:
        assert not force
        self.called_off.append(task)


LAUNCH = Launch("redis://crawler@r:6379/0", "owls", 1, options=("--concurrency", "8"))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicrawl.launching._PAUSES", (0.0,))


def told(ray: PretendRay, launch: Launch = LAUNCH) -> list[str]:
    return [news.what for news in launched(ray, launch, lambda: False)]


@pytest.mark.usefixtures("quick")
def test_a_worker_that_dies_is_started_again_and_one_that_has_finished_is_not() -> None:
    ray = PretendRay(
        Outcome(-9, "", "10.0.0.1"), OSError("the node has died"), Outcome(3, "no Redis", ""), Outcome(0, "", "b")
    )
    started, died, *_, finished = told(ray)
    assert (started, died) == ("started", "died with -9; starts again in 0 s")
    assert finished == "finished on b"
    assert ray.asked == 4 * [(["worker", "redis://crawler@r:6379/0", "owls", "--concurrency", "8"], ".")]
    assert (ray.chosen["num_cpus"], ray.chosen["scheduling_strategy"], ray.called_off) == (1.0, "SPREAD", [])


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("code", [2, 6])
def test_what_would_fail_again_ends_it_all(code: int) -> None:
    with pytest.raises(ClusterError, match="no crawl 'owls'"):
        told(PretendRay(Outcome(code, "topicrawl: no crawl 'owls'", "a")))


@pytest.mark.usefixtures("quick")
def test_a_worker_that_dies_at_once_again_and_again_is_given_up() -> None:
    ray = PretendRay(*(10 * [Outcome(1, "boom", "a")]))
    with pytest.raises(ClusterError, match=r"has died 10 times, each time at once \(boom\)"):
        told(ray)


def test_when_it_is_over_workers_are_called_off_gently() -> None:
    ray, over = PretendRay(), [False, False, True]
    assert [news.number for news in launched(ray, Launch("redis://r", "owls", 3), lambda: over.pop(0))] == [1, 2, 3]
    assert ray.called_off == [1, 2, 3]


def test_no_password_goes_through_ray() -> None:
    with pytest.raises(SettingError) as refused:
        Launch("redis://me:hush@r/0", "owls", 1)
    assert "hush" not in str(refused.value)


def test_without_ray_one_line_says_what_to_install() -> None:
    try:
        import ray  # noqa: F401
    except ImportError:
        with pytest.raises(SettingError, match=r"pip install 'topicrawl\[cluster,ray\]'"), on_ray("auto"):
            pass
    else:
        pytest.skip("Ray is installed here")
