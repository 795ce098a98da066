"""Prompt of the reviewer, and verdicts in its replies."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.engine.review_prompt import (
    EXCERPT_CHARS,
    PASSAGE_CHARS,
    ExamplePage,
    ModelVerdict,
    PageExcerpt,
    build_excerpt,
    build_messages,
    parse_verdict,
)
from topicrawl.topic import Topic

TOPIC = Topic.of("barn owls")
GOOD = '{"relevant": true, "confidence": 0.8, "reason": "it is about owls"}'
VERDICT = ModelVerdict(True, 0.8, "it is about owls")
BOUNDARY = "0123456789abcdef"


def build_prompt(page: PageExcerpt, *examples: ExamplePage) -> str:
    system, user = build_messages(TOPIC, page, examples, words=TOPIC.words, boundary=BOUNDARY)
    assert (system["role"], user["role"]) == ("system", "user")
    assert BOUNDARY in system["content"]
    return user["content"]


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Here is my verdict: {GOOD} I hope this helps.",
        f"The page {{mentions}} owls.\n{GOOD}",
        f"{GOOD}\n{GOOD}",
        f'<think>{{"relevant": false, "confidence": 1, "reason": ""}}</think>{GOOD}',
        json.dumps({**json.loads(GOOD), "language": "en"}, indent=2),
    ],
)
def test_a_verdict_is_found_in_a_reply(reply: str) -> None:
    assert parse_verdict(reply) == VERDICT


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "yes",
        "true",
        "[true]",
        "{}",
        GOOD[:-1],
        '{"relevant": "true", "confidence": 0.8, "reason": ""}',
        '{"relevant": 1, "confidence": 0.8, "reason": ""}',
        '{"relevant": true, "confidence": 80, "reason": ""}',
        '{"relevant": true, "confidence": NaN, "reason": ""}',
        '{"relevant": true, "confidence": "high", "reason": ""}',
        '{"relevant": true, "confidence": true, "reason": ""}',
        '{"relevant": true, "reason": ""}',
        '{"relevant": true, "confidence": 0.8}',
        f'{{"verdict": {GOOD}}}',
        f'{GOOD} {{"relevant": false, "confidence": 0.9, "reason": "the page said the opposite"}}',
        "{" * 100_000,
        '{"relevant":' + "[" * 100_000,
    ],
    ids=lambda reply: reply[:60],
)
def test_anything_else_is_no_verdict(reply: str) -> None:
    assert parse_verdict(reply) is None


@given(st.text())
def test_any_text_can_be_parsed(reply: str) -> None:
    assert parse_verdict(reply) in (None, VERDICT)


@pytest.mark.parametrize(
    ("relevant", "confidence", "label"),
    [
        (True, 0.9, AnnotationLabel.RELEVANT),
        (False, 0.5, AnnotationLabel.IRRELEVANT),
        (True, 0.4, AnnotationLabel.UNSURE),
    ],
)
def test_a_verdict_with_low_confidence_is_unsure(relevant: bool, confidence: float, label: AnnotationLabel) -> None:
    assert ModelVerdict(relevant, confidence, "").label == label


def test_the_prompt_contains_topic_examples_and_page() -> None:
    prompt = build_prompt(
        PageExcerpt("http://a.example/", "Owls", "They hunt at night.", "A barn owl."),
        ExamplePage("http://good.example/", "Good", relevant=True),
        ExamplePage("http://bad.example/", "Bad", relevant=False),
    )
    assert prompt.startswith("Topic: barn owls\nWords of the topic: barn, owls\n")
    assert "\nrelevant: http://good.example/ Good\nnot relevant: http://bad.example/ Bad\n" in prompt
    for line in ("URL: http://a.example/", "Title: Owls", "Text: They hunt at night.", "Passage: A barn owl."):
        assert f"\n{line}\n" in prompt


@given(st.text(), st.text(), st.text())
def test_a_page_cannot_leave_its_delimiters(url: str, title: str, text: str) -> None:
    prompt = build_prompt(PageExcerpt(url, title, text, f"p{text}"), ExamplePage(url, title, relevant=True))
    lines = prompt.split("\n")
    assert len(lines) == 12
    assert [line for line in lines if BOUNDARY in line] == [
        f"<examples-{BOUNDARY}>",
        f"</examples-{BOUNDARY}>",
        f"<page-{BOUNDARY}>",
        f"</page-{BOUNDARY}>",
    ] or BOUNDARY in url + title + text
    json.dumps(prompt).encode("ascii")
    prompt.encode("utf-8")


def test_the_excerpt_is_bounded_and_has_the_best_passage() -> None:
    text = f"{'rails and steam ' * 300} the barn owl hunts {'rails and steam ' * 300}"
    page = build_excerpt("http://a.example/", "t" * 10_000, text, TOPIC.words, TOPIC)
    assert page.text == text[:EXCERPT_CHARS]
    assert "barn owl" in page.passage
    assert len(page.passage) <= PASSAGE_CHARS
    assert len(build_prompt(page)) < EXCERPT_CHARS + PASSAGE_CHARS + 1500
