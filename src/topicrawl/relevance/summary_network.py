"""Networks that choose summary sentences: those that come with the package, and those that users train.

A network belongs to a language, because what a reader calls important does (Mohammadi, section 8). The package has
English, trained on a made-up web (`tools/make_summary_data.py`); `topicrawl train summary` makes others.
"""

from __future__ import annotations

import json
from importlib import resources
from math import isfinite
from typing import Any

from topicrawl.learn.network import Network
from topicrawl.relevance.sentence_features import FEATURES

KIND = "summary"
HIDDEN = (5,)


def model_of(network: Network, language: str) -> dict[str, object]:
    """A network as it is stored."""
    return {"language": language, "features": list(FEATURES), "network": network.state()}


def shipped(language: str) -> Network | None:
    """The network for a language that comes with the package; None when there is none."""
    file = resources.files("topicrawl.text").joinpath("data", f"summary.{language}.json")
    return network_in(file.read_text("utf-8")) if language.isalpha() and file.is_file() else None


def network_in(text: str) -> Network:
    """The network in the text of a file; ValueError says what is wrong with it."""
    try:
        stored = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(stored, dict) or stored.get("kind") != KIND:
        raise ValueError("no network of `topicrawl train summary`")
    model = stored.get("model")
    if not isinstance(model, dict) or model.get("features") != list(FEATURES):
        raise ValueError(f"a network over other features than {', '.join(FEATURES)}: train it again")
    if not _is_sound(model.get("network")):
        raise ValueError("a damaged network: train it again")
    return Network.of(model["network"])


def _is_sound(state: Any) -> bool:
    """Do the numbers fit together: six inputs, layers that fit on each other, one output?"""
    if not isinstance(state, list) or len(state) != 3 or not isinstance(state[2], list) or not state[2]:
        return False
    centre, scale, layers = state
    if not (_are_numbers(centre, len(FEATURES)) and _are_numbers(scale, len(FEATURES)) and all(scale)):
        return False
    inputs = len(FEATURES)
    for layer in layers:
        if not isinstance(layer, list) or not layer or not all(_are_numbers(unit, inputs + 1) for unit in layer):
            return False
        inputs = len(layer)
    return inputs == 1


def _are_numbers(values: Any, count: int) -> bool:
    if not isinstance(values, list) or len(values) != count:
        return False
    return all(isinstance(value, int | float) and isfinite(value) for value in values)
