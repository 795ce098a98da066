"""Ray launcher: dead workers are restarted, finished ones are not, and no password passes through Ray."""

from __future__ import annotations

from typing import Any

import pytest

from topicrawl.cluster.ray_launcher import LaunchConfig, WorkerExit, connect_ray, launch_workers
from topicrawl.errors import ClusterError, SettingError


class FakeRay:
    """Fake of the Ray functions that the launcher uses. Tasks finish immediately with the given outcomes."""

    class exceptions:
        RayError = OSError

    def __init__(self, *outcomes: WorkerExit | Exception) -> None:
        self.outcomes = list(outcomes)
        self.submitted: list[object] = []
        self.cancelled: list[object] = []

    def remote(self, *given: object) -> Any:
        if callable(given[0]):
            return self
        self.submitted.append(given)
        return len(self.submitted)

    def options(self, **options: object) -> FakeRay:
        self.chosen = options
        return self

    def wait(self, tasks: list[int], **limits: object) -> tuple[list[int], list[int]]:
        return [task for task in tasks if task <= len(self.outcomes)], []

    def get(self, task: int) -> WorkerExit:
        outcome = self.outcomes[task - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def cancel(self, task: object, *, force: bool) -> None:
        assert not force
        self.cancelled.append(task)


LAUNCH = LaunchConfig("redis://crawler@r:6379/0", "owls", 1, options=("--concurrency", "8"))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicrawl.cluster.ray_launcher._PAUSES", (0.0,))


def event_messages(ray: FakeRay, launch: LaunchConfig = LAUNCH) -> list[str]:
    return [event.message for event in launch_workers(ray, launch, lambda: False)]


@pytest.mark.usefixtures("quick")
def test_a_dead_worker_is_restarted_and_a_finished_one_is_not() -> None:
    ray = FakeRay(
        WorkerExit(-9, "", "10.0.0.1"),
        OSError("the node has died"),
        WorkerExit(3, "no Redis", ""),
        WorkerExit(0, "", "b"),
    )
    started, died, *_, finished = event_messages(ray)
    assert (started, died) == ("started", "died with -9; restarts in 0 s")
    assert finished == "finished on b"
    assert ray.submitted == 4 * [(["worker", "redis://crawler@r:6379/0", "owls", "--concurrency", "8"], ".")]
    assert (ray.chosen["num_cpus"], ray.chosen["scheduling_strategy"], ray.cancelled) == (1.0, "SPREAD", [])


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("code", [2, 6])
def test_a_permanent_failure_stops_the_launcher(code: int) -> None:
    with pytest.raises(ClusterError, match="no crawl 'owls'"):
        event_messages(FakeRay(WorkerExit(code, "topicrawl: no crawl 'owls'", "a")))


@pytest.mark.usefixtures("quick")
def test_repeated_early_deaths_stop_the_launcher() -> None:
    ray = FakeRay(*(10 * [WorkerExit(1, "boom", "a")]))
    with pytest.raises(ClusterError, match=r"died 10 times shortly after its start \(boom\)"):
        event_messages(ray)


def test_workers_are_cancelled_gracefully_at_the_end() -> None:
    ray, over = FakeRay(), [False, False, True]
    assert [
        event.number for event in launch_workers(ray, LaunchConfig("redis://r", "owls", 3), lambda: over.pop(0))
    ] == [1, 2, 3]
    assert ray.cancelled == [1, 2, 3]


def test_an_address_with_a_password_is_refused() -> None:
    with pytest.raises(SettingError) as refused:
        LaunchConfig("redis://me:secret@r/0", "owls", 1)
    assert "secret" not in str(refused.value)


def test_a_missing_ray_installation_is_explained() -> None:
    try:
        import ray  # noqa: F401
    except ImportError:
        with pytest.raises(SettingError, match=r"pip install 'topicrawl\[cluster,ray\]'"), connect_ray("auto"):
            pass
    else:
        pytest.skip("Ray is installed here")
