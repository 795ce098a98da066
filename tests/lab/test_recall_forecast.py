"""Recall forecasts during a run, compared with its end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random

from tests.helpers.markers import LONG

from topicrawl.lab.parsed_web import ParsedWeb
from topicrawl.lab.recall_forecast import FORECAST_SHARES, RecallForecast, forecast_run, measure_accuracy
from topicrawl.lab.simulate import Task, simulate
from topicrawl.sample_web.web import SampleWeb
from topicrawl.topic import Topic


def build_row(steps: list[int], fetches: int) -> dict[str, object]:
    """Return a result row with forecasts, as read from a results file."""
    forecasts = forecast_run(steps, fetches)
    return json.loads(json.dumps({"fetches": fetches, "foresight": {"judged": forecasts}}))  # type: ignore[no-any-return]


def draw_falling_harvest(seed: int, fetches: int = 1200) -> list[int]:
    """Return the fetches that find a page, with a falling probability."""
    random = Random(seed)
    return [step for step in range(1, fetches + 1) if random.random() < 0.5 / (1 + step / 60)]


def test_a_forecast_depends_only_on_earlier_fetches() -> None:
    steps = draw_falling_harvest(1)
    cut = [step for step in steps if step <= 600]
    whole, half = forecast_run(steps, 1200)["answers"], forecast_run(cut, 1200)["answers"]
    assert [answer[:6] for answer in whole[:2]] == [answer[:6] for answer in half[:2]]
    assert whole[1][6] == len(steps) - len(cut)
    assert half[1][6] == 0


def test_the_horizon_is_the_length_so_far_limited_by_the_end_of_the_run() -> None:
    answers = [RecallForecast(*values) for values in forecast_run(draw_falling_harvest(2), 1200)["answers"]]
    assert [(answer.fetches, answer.horizon) for answer in answers] == [(360, 360), (600, 600), (840, 360)]
    assert len(answers) == len(FORECAST_SHARES)


def test_only_an_exhausted_run_meets_the_stop_criterion() -> None:
    exhausted = forecast_run([*range(1, 90), *range(90, 150, 3)], 1000)
    assert 300 <= exhausted["stop"] < 800
    assert exhausted["had"] == exhausted["found"] == 109
    steady = forecast_run(list(range(1, 1000, 5)), 1000)
    assert (steady["stop"], steady["had"]) == (None, None)
    assert not any(answer[-1] for answer in steady["answers"])


def test_most_intervals_contain_the_truth_on_falling_curves() -> None:
    found = measure_accuracy([build_row(draw_falling_harvest(seed), 1200) for seed in range(12)], "judged")
    values = found.to_dict()
    assert values["runs"] == 12
    assert values["answered"] >= 24
    assert values["held"] >= 0.85
    assert values["off_median"] < 0.12


def test_rows_without_forecasts_are_ignored() -> None:
    values = measure_accuracy([{"fetches": 10}, build_row([], 50)], "judged").to_dict()
    assert (values["runs"], values["answered"], values["held"], values["stopped"]) == (1, 0, None, 0)


@LONG
def test_the_intervals_contain_the_truth_in_complete_crawls_of_the_sample_web(tmp_path: Path) -> None:
    web = SampleWeb(seed=3, pages=1000, hosts=40)
    web.write(tmp_path)
    recorded = ParsedWeb(tmp_path, cached=False)
    labels = web.get_labels()

    async def run(strategy: str, name: str) -> dict[str, object]:
        topic = Topic.of(" ".join(web.topics[name][:6]))
        judged, labelled, fetches = [], [], 0
        async for visit in simulate(recorded, Task(topic, web.get_seeds(name), strategy, 10_000)):
            fetches += 1
            if visit.failure is None and (visit.relevance or 0.0) >= topic.threshold:
                judged.append(fetches)
            if name in labels.get(visit.url, ()):
                labelled.append(fetches)
        forecasts = {"judged": forecast_run(judged, fetches), "labels": forecast_run(labelled, fetches)}
        return {"fetches": fetches, "foresight": forecasts}

    strategies, count = ("best_first", "apprentice"), 8
    rows = [asyncio.run(run(strategy, name)) for strategy in strategies for name in list(web.topics)[:count]]
    recorded.close()
    judged = measure_accuracy(rows, "judged")
    # The nominal coverage is 90 %. One more miss is allowed, because there are few forecasts.
    assert len(judged.forecasts) >= 2 * len(rows)
    assert sum(not forecast.within_interval for forecast in judged.forecasts) <= 0.1 * len(judged.forecasts) + 1
    assert measure_accuracy(rows, "labels").coverage >= 0.8
