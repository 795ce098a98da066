"""Networks that select summary sentences: bundled ones and those that users train.

Each network is for one language, because the importance of a sentence depends on the language (Mohammadi, section 8).
The package contains an English network, trained on a synthetic web (`tools/make_summary_data.py`), and networks for
German and French, trained on manuals with labels from a rule (`tools/make_manual_summaries.py`). `topicrawl train
summary` trains others.
"""

from __future__ import annotations

import json
from importlib import resources
from math import isfinite
from typing import Any

from topicrawl.ml.network import NeuralNetwork
from topicrawl.relevance.sentence_features import FEATURE_NAMES

MODEL_KIND = "summary"
HIDDEN_LAYERS = (5,)


def serialize_network(network: NeuralNetwork, language: str) -> dict[str, object]:
    """Return a network as the JSON object that is stored in a model file."""
    return {"language": language, "features": list(FEATURE_NAMES), "network": network.get_state()}


def load_bundled_network(language: str) -> NeuralNetwork | None:
    """Load the bundled network of a language, or return None if there is none."""
    file = resources.files("topicrawl.text").joinpath("data", f"summary.{language}.json")
    return parse_network(file.read_text("utf-8")) if language.isalpha() and file.is_file() else None


def list_bundled_networks() -> dict[str, dict[str, Any]]:
    """Return the languages of the bundled networks with the details of their training, such as the accuracy."""
    folder = resources.files("topicrawl.text").joinpath("data")
    names = sorted(file.name for file in folder.iterdir() if file.name.startswith("summary."))
    return {name.split(".")[1]: json.loads(folder.joinpath(name).read_text("utf-8"))["made_from"] for name in names}


def parse_network(text: str) -> NeuralNetwork:
    """Parse a network from the text of a model file. Raise `ValueError` if the file is not valid."""
    try:
        stored = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(stored, dict) or stored.get("kind") != MODEL_KIND:
        raise ValueError("not a network written by `topicrawl train summary`")
    model = stored.get("model")
    if not isinstance(model, dict) or model.get("features") != list(FEATURE_NAMES):
        raise ValueError(f"the network does not use the features {', '.join(FEATURE_NAMES)}: train it again")
    if not _is_valid_state(model.get("network")):
        raise ValueError("the network is damaged: train it again")
    return NeuralNetwork.from_state(model["network"])


def _is_valid_state(state: Any) -> bool:
    """Return whether the state has six inputs, layers of matching sizes, and one output."""
    if not isinstance(state, list) or len(state) != 3 or not isinstance(state[2], list) or not state[2]:
        return False
    centre, scale, layers = state
    if not (_are_numbers(centre, len(FEATURE_NAMES)) and _are_numbers(scale, len(FEATURE_NAMES)) and all(scale)):
        return False
    inputs = len(FEATURE_NAMES)
    for layer in layers:
        if not isinstance(layer, list) or not layer or not all(_are_numbers(unit, inputs + 1) for unit in layer):
            return False
        inputs = len(layer)
    return inputs == 1


def _are_numbers(values: Any, count: int) -> bool:
    if not isinstance(values, list) or len(values) != count:
        return False
    return all(isinstance(value, int | float) and isfinite(value) for value in values)
