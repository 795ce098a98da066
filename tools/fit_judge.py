"""Fit the coefficients of `topicrawl.relevance.topic_judge` to labelled webs, and print them with their quality.

The quality of the coefficients in the package follows, for comparison.

    .venv/bin/python tools/fit_judge.py ../webs/wikispeedia ../webs/docweb

Each web has pages, labels and tasks with chosen words and phrases. The coefficients are fitted to every other topic, in
alphabetical order; the printed precision, recall and average precision of the other topics show how they generalise.
Every topic has the same weight, with 15 % of it on its targets. The expansion of a topic is built from a random half of
its web, as a crawl would build it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from topicrawl.lab.parsed_web import ParsedWeb
from topicrawl.lab.tasks import TASK_FILES, LabTask, label_matches, read_labels, read_tasks
from topicrawl.models import Page
from topicrawl.relevance.topic_judge import (
    EXPANDED_COEFFICIENTS,
    EXPANDED_WORD_COEFFICIENTS,
    TOPIC_COEFFICIENTS,
    WORD_COEFFICIENTS,
    Coefficients,
    TopicJudge,
)
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.bag_of_words import VocabularyCache
from topicrawl.topic import Topic

TARGET_SHARE = 0.15
REGULARISATION = 1e-3
TOPIC_FEATURES, ALL_FEATURES = 5, 7
MIN_SOURCES = 3  # topics with fewer sources say nothing about the weight of an expansion

Matrix = NDArray[np.float64]


@dataclass
class LabelledTopic:
    """A topic with the evidence on the labelled pages of its web."""

    web: str
    task: LabTask
    kind: str
    is_fitted: bool  # whether the coefficients are fitted to this topic
    judge: TopicJudge
    rows: list[list[float]] = field(default_factory=list)
    labels: list[bool] = field(default_factory=list)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weight of each page; all weights of a topic add up to 1."""
        is_target = np.array(self.labels)
        targets = is_target.sum()
        return np.where(is_target, TARGET_SHARE / targets, (1 - TARGET_SHARE) / (len(is_target) - targets))


def list_topics(path: Path) -> list[LabelledTopic]:
    """Return the topics of a web, each with chosen words and with its phrase."""
    vocabularies = VocabularyCache()
    topics = []
    for kind, name in TASK_FILES.items():
        tasks = {task.topic: task for task in read_tasks(path / name)}
        for number, topic in enumerate(sorted(tasks)):
            judge = TopicJudge(Vsm(Topic.of(tasks[topic].words), vocabularies))
            topics.append(LabelledTopic(path.name, tasks[topic], kind, number % 2 == 0, judge))
    return topics


def iterate_pages(web: ParsedWeb) -> Iterator[Page]:
    """Iterate over the pages of a web."""
    for url in web.build_graph():
        page = web.get_page(url)
        if page is not None:
            yield page


def collect_evidence(path: Path) -> list[LabelledTopic]:
    """Return the topics of a web with the evidence on all pages."""
    web, labels, topics = ParsedWeb(path), read_labels(path), list_topics(path)
    for page in iterate_pages(web):
        if Random(page.url).random() < 0.5:
            profile = topics[0].judge.build_profile(page)
            for topic in topics:
                if is_labelled(topic.task, labels.get(page.url, ())):
                    topic.judge.observe(page, profile)
    for page in iterate_pages(web):
        own_labels, profile = labels.get(page.url, ()), topics[0].judge.build_profile(page)
        for topic in topics:
            if is_labelled(topic.task, own_labels):
                evidence = topic.judge.get_extractor(page).extract(page, profile)
                similar = topic.judge.compute_expansion_similarity(profile)
                topic.rows.append([*evidence[:TOPIC_FEATURES], *similar])
                topic.labels.append(any(label_matches(label, topic.task.labels) for label in own_labels))
    return topics


def is_labelled(task: LabTask, labels: tuple[str, ...]) -> bool:
    """Return whether a page belongs to the pages of a task."""
    return not task.within or any(label_matches(label, [task.within]) for label in labels)


def fit(topics: list[LabelledTopic], features: list[int]) -> Coefficients:
    """Fit a logistic regression by Newton's method. The coefficients of other features are 0."""
    rows = np.vstack([np.array(topic.rows)[:, features] for topic in topics])
    weights = np.concatenate([topic.weights for topic in topics]) / len(topics)
    targets = np.concatenate([np.array(topic.labels, float) for topic in topics])
    scale = rows.std(axis=0)
    matrix = np.hstack([np.ones((len(rows), 1)), rows / scale])
    penalty = np.diag([0.0, *[REGULARISATION] * len(features)])
    values = np.zeros(len(features) + 1)
    for _ in range(50):
        predicted = 1 / (1 + np.exp(-matrix @ values))
        gradient = matrix.T @ (weights * (predicted - targets)) + penalty @ values
        curvature = weights * predicted * (1 - predicted)
        values -= np.linalg.solve(matrix.T @ (matrix * curvature[:, None]) + penalty, gradient)
    coefficients = np.zeros(ALL_FEATURES)
    coefficients[features] = values[1:] / scale
    return Coefficients(float(values[0]), *coefficients.tolist())


def print_quality(topics: list[LabelledTopic], coefficients: Coefficients, features: list[int]) -> None:
    """Print average precision, and precision and recall at the threshold, for each web and kind of topic."""
    for kind in TASK_FILES:
        for web in dict.fromkeys(topic.web for topic in topics):
            for is_fitted in (True, False):
                chosen = [t for t in topics if (t.kind, t.web, t.is_fitted) == (kind, web, is_fitted)]
                quality = np.mean([measure_quality(topic, coefficients, features) for topic in chosen], axis=0)
                name = f"{kind}, {web}, {'fitted' if is_fitted else 'other'} topics"
                print(f"  {name:45}AP {quality[0]:.3f}  precision {quality[1]:.2f}  recall {quality[2]:.2f}")


def measure_quality(
    topic: LabelledTopic, coefficients: Coefficients, features: list[int]
) -> tuple[float, float, float]:
    """Return the average precision, and the precision and recall of the pages above .5."""
    scores = coefficients[0] + np.array(topic.rows)[:, features] @ np.array(coefficients[1:])[features]
    is_target = np.array(topic.labels)
    ranked = is_target[np.argsort(-scores, kind="stable")]
    precisions = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    accepted = is_target[scores > 0]
    precision = float(accepted.mean()) if len(accepted) else 0.0
    return float(precisions[ranked].mean()), precision, float(accepted.sum() / is_target.sum())


def main() -> None:
    """Fit the coefficients to the webs on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("webs", nargs="+", type=Path)
    topics = [topic for path in parser.parse_args().webs for topic in collect_evidence(path)]
    for name, features, current in (
        ("TOPIC_COEFFICIENTS", [0, 1, 2, 3, 4], TOPIC_COEFFICIENTS),
        ("WORD_COEFFICIENTS", [0, 1, 2], WORD_COEFFICIENTS),
        ("EXPANDED_COEFFICIENTS", [0, 1, 2, 3, 4, 5, 6], EXPANDED_COEFFICIENTS),
        ("EXPANDED_WORD_COEFFICIENTS", [0, 1, 2, 5], EXPANDED_WORD_COEFFICIENTS),
    ):
        fitted = [topic for topic in topics if topic.is_fitted]
        if max(features) >= TOPIC_FEATURES:
            fitted = [topic for topic in fitted if len(topic.judge.expansion.sources) >= MIN_SOURCES]
        coefficients = fit(fitted, features)
        print(name, *(f"{value:.2f}" for value in coefficients))
        print_quality(topics, coefficients, features)
        print(f"{name} of the package")
        print_quality(topics, current, features)


if __name__ == "__main__":
    main()
