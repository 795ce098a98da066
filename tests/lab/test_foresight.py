"""What a run could have known: asked on its way, judged by its end."""

from __future__ import annotations

import json
from random import Random

from topicrawl.lab.foresight import ASKED, Answer, foresight, foretold


def row(steps: list[int], fetches: int) -> dict[str, object]:
    known = foretold(steps, fetches)
    return json.loads(json.dumps({"fetches": fetches, "foresight": {"judged": known}}))  # type: ignore[no-any-return]


def falling(seed: int, fetches: int = 1200) -> list[int]:
    random = Random(seed)
    return [step for step in range(1, fetches + 1) if random.random() < 0.5 / (1 + step / 60)]


def test_an_answer_knows_only_what_came_before_it() -> None:
    steps = falling(1)
    cut = [step for step in steps if step <= 600]
    whole, half = foretold(steps, 1200)["answers"], foretold(cut, 1200)["answers"]
    assert [answer[:6] for answer in whole[:2]] == [answer[:6] for answer in half[:2]]
    assert whole[1][6] == len(steps) - len(cut)
    assert half[1][6] == 0


def test_it_looks_as_far_ahead_as_the_run_has_gone_and_not_beyond_its_end() -> None:
    answers = [Answer(*values) for values in foretold(falling(2), 1200)["answers"]]
    assert [(answer.at, answer.ahead) for answer in answers] == [(360, 360), (600, 600), (840, 360)]
    assert len(answers) == len(ASKED)


def test_a_run_that_dries_up_would_have_stopped_and_one_that_flows_would_not() -> None:
    dry = foretold([*range(1, 90), *range(90, 150, 3)], 1000)
    assert 300 <= dry["stop"] < 800
    assert dry["had"] == dry["found"] == 109
    flowing = foretold(list(range(1, 1000, 5)), 1000)
    assert (flowing["stop"], flowing["had"]) == (None, None)
    assert not any(answer[-1] for answer in flowing["answers"])


def test_most_intervals_hold_on_curves_that_fall() -> None:
    found = foresight([row(falling(seed), 1200) for seed in range(12)], "judged")
    values = found.values()
    assert values["runs"] == 12
    assert values["answered"] >= 24
    assert values["held"] >= 0.85
    assert values["off_median"] < 0.12


def test_runs_that_were_never_asked_tell_nothing() -> None:
    values = foresight([{"fetches": 10}, row([], 50)], "judged").values()
    assert (values["runs"], values["answered"], values["held"], values["stopped"]) == (1, 0, None, 0)
