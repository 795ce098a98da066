"""Generate labelled sentences and train the English summary network, src/topicrawl/text/data/summary.en.json.

    python tools/make_summary_data.py                         # write the network and print its accuracy
    python tools/make_summary_data.py --table sentences.tsv   # write the labelled sentences too

The pages are synthetic, with the vocabulary of the sample web. Each sentence is labelled by the role for which it was
generated. The structure of the pages follows what is known about pages written by people:

- The topic sentence of a paragraph is its first sentence in 85 of 100 paragraphs and its last in 7 (Baxendale 1958);
  otherwise it is in the middle. It is about the subject of the page, and two times in three it contains a word of the
  title or the whole title. It belongs to the summary. The other sentences of the paragraph do not.
- Headings and larger opening lines belong to the summary. Menus, link lists, references, boxes with news and offers,
  and legal notices do not. One paragraph in eight has no topic sentence.
- The anchor text of the link to the page contains words of the title, other words of the subject, or no informative
  words. One page in seven has an uninformative title.

The network can learn from this data only the typical position of important sentences. For another language or another
kind of page, `topicrawl train summary` trains a network on real pages with manual labels.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from random import Random

from topicrawl.cli.train.inputs import write_model
from topicrawl.lab.summary_labels import SentenceRow, build_rows, write_rows
from topicrawl.lab.summary_training import ConfusionMatrix, evaluate_network, fit_network
from topicrawl.models import Link, Page, Response
from topicrawl.parse import parse_response
from topicrawl.relevance.summary_network import MODEL_KIND, serialize_network
from topicrawl.sample_web.hosts import SUBJECTS
from topicrawl.sample_web.html import LAYOUTS, PageLayout
from topicrawl.sample_web.plan import TEMPLATES
from topicrawl.sample_web.prose import ProseTemplates, hash_numbers, make_heading, make_sentence, make_title
from topicrawl.sample_web.vocabulary import BACKGROUND, PEOPLE
from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.tokenizer import tokenise

NETWORK = Path(__file__).parent.parent / "src" / "topicrawl" / "text" / "data" / "summary.en.json"
PAGES, HELD_OUT = 400, 100
VOCABULARIES = (*SUBJECTS, BACKGROUND)
NOTHING = len(SUBJECTS)
PROSE = (*TEMPLATES, ProseTemplates(BACKGROUND))
MENU = '<a href="/">Home</a> | <a href="/all">All stories</a> | <a href="/about">Who writes this and why</a>\n'
EMPTY = ("click here", "read more", "next", "home", "")
SMALL_PRINT = (
    "All rights reserved, and nothing here may be copied without asking.",
    "The editors are not responsible for the contents of other sites.",
    "Prices include the tax and may change without notice.",
    "Written by a volunteer, last changed some years ago.",
    "We use cookies to remember you, and by reading on you agree.",
    "Send mistakes and questions to the address below, please.",
    "Numbers in brackets refer to the list at the end.",
)
OFFERS = (
    "Subscribe to our letter and never miss a story again.",
    "Members read everything without advertisements for a small fee.",
    "Today only, everything in our shop costs a third less.",
    "Tell your friends about this page and win a prize.",
    "Log in or make an account to write a comment.",
)


class Writer:
    """Generator of one page. It records which sentences belong to the summary."""

    def __init__(self, number: int) -> None:
        self.random = Random(hash_numbers(7, 61, number))
        self.subject = number % len(SUBJECTS)
        self.other = (self.subject + 1 + self.random.randrange(len(SUBJECTS) - 1)) % len(SUBJECTS)
        self.lexicon = TEMPLATES[self.subject]
        # Multiples of four would give uninformative titles.
        informative = self.random.random() < 0.85
        self.title = make_title(self.lexicon, hash_numbers(number, 5) // 4 * 4 + 1) if informative else "Notes"
        self.title_words = {word for word in tokenise(self.title) if word not in load_lexicon("en").stop_words}
        self.layout: PageLayout = LAYOUTS[self.random.randrange(len(LAYOUTS))]
        self.summary: set[str] = {self.title}

    def make_sentence(self, subject: int) -> str:
        """Generate a sentence on a subject with a realistic length of 4 to 40 words."""
        draw = self.random.random()
        if draw < 0.2:
            vocabulary = VOCABULARIES[subject]
            short = (
                f"{self.random.choice(vocabulary.noun_phrases)} often {self.random.choice(vocabulary.verb_phrases)}."
            )
            return short[0].upper() + short[1:]
        first = make_sentence(PROSE[subject], self.random.random)
        if draw < 0.65:
            return first
        second = make_sentence(PROSE[subject], self.random.random)
        return f"{first[:-1]}, and {second[0].lower()}{second[1:]}"

    def make_subject_sentence(self, title_share: float) -> str:
        """Generate a sentence on the subject of the page. It contains a word of the title with this probability."""
        candidate = self.make_sentence(self.subject)
        with_title = self.random.random() < title_share
        for _ in range(60):
            if with_title == (not self.title_words.isdisjoint(tokenise(candidate))):
                break
            candidate = self.make_sentence(self.subject)
        return candidate

    def make_topic_sentence(self) -> str:
        """Generate the topic sentence of a paragraph, sometimes with the whole title in it."""
        text = self.make_subject_sentence(2 / 3)
        if self.random.random() < 0.2:
            return f"{text[:-1]}, and this is what {self.title[0].lower()}{self.title[1:]} is about."
        return text

    def render_paragraph(self) -> str:
        """Generate a paragraph and record its topic sentence, if it has one."""
        size = self.random.choice((1, 1, 2, 3, 3, 4, 5, 6))
        sentences = [
            self.make_subject_sentence(0.15) if self.random.random() < 0.4 else self.make_sentence(NOTHING)
            for _ in range(size)
        ]
        if self.random.random() < 7 / 8:
            draw = self.random.random()
            position = 0 if draw < 0.85 else size - 1 if draw < 0.92 else self.random.randrange(size)
            sentences[position] = self.make_topic_sentence()
            self.summary.add(sentences[position])
        return self.layout.paragraph % " ".join(sentences)

    def render_box(self) -> str:
        """Generate a box with news and offers on another subject."""
        sentences = [self.make_sentence(self.other) for _ in range(self.random.randrange(1, 4))]
        sentences.insert(self.random.randrange(2), self.random.choice(OFFERS))
        return f"<div>{' '.join(sentences)}</div>\n"

    def render_small_print(self) -> str:
        """Generate the footer with legal notices."""
        text = " ".join(self.random.sample(SMALL_PRINT, self.random.randrange(1, 4)))
        templates = ("<small>%s</small>", '<p style="font-size:11px">%s</p>', "<font size=1>%s</font>", "<p>%s</p>")
        return self.random.choice(templates) % text

    def render_text(self) -> str:
        """Generate the main text with headings, paragraphs and boxes."""
        parts = []
        if self.random.random() < 0.3:
            opening = self.make_subject_sentence(0.8)
            self.summary.add(opening)
            parts.append(f'<p style="font-size:{self.random.choice((18, 20, 22))}px">{opening}</p>\n')
        for _ in range(self.random.randrange(2, 9)):
            if parts and self.random.random() < 0.4:
                text = make_heading(self.lexicon, self.random.random)
                self.summary.add(text)
                parts.append(self.layout.heading % text)
            parts.append(self.render_paragraph())
            if self.random.random() < 0.2:
                parts.append(self.render_box())
        return "".join(parts)

    def render_references(self) -> str:
        """Generate a list of references on the subject, on one page in five."""
        if self.random.random() < 0.8:
            return ""
        lines = []
        for _ in range(self.random.randrange(3, 9)):
            work = make_title(self.lexicon, hash_numbers(self.random.getrandbits(32), 9))
            journal = make_heading(self.lexicon, self.random.random)
            year, first = self.random.randrange(1950, 2020), self.random.randrange(400)
            author = self.random.choice(PEOPLE)
            lines.append(f"{author}, {work}, in {journal}, volume {year % 37}, {year}, pages {first} to {first + 12}")
        return self.layout.items % "".join(self.layout.item % line for line in lines)

    def render_links(self, subject: int, count: int) -> str:
        """Generate a list of links to other pages. Their titles are not sentences of this page."""
        titles = [make_title(TEMPLATES[subject], hash_numbers(self.random.getrandbits(32), 9)) for _ in range(count)]
        titles = [text for text in titles if text not in self.summary]
        return self.layout.items % "".join(
            self.layout.item % f'<a href="/{at}">{text}</a>' for at, text in enumerate(titles)
        )

    def render_page(self) -> str:
        """Generate the HTML of the page."""
        size = self.random.choice(
            ("", "", "body { font-size: 14px }", "p { font-size: 13px }", "body { font-size: 18px }")
        )
        return self.layout.page % {
            "charset": "utf-8",
            "title": self.title,
            "site": "made up",
            "dress": size,
            "menu": MENU,
            "text": self.render_text() + self.render_references(),
            "listed": self.render_links(self.subject, self.random.randrange(4)),
            "aside": self.render_links(self.other, self.random.randrange(5)),
            "footer": self.render_small_print(),
        }

    def make_anchor(self) -> str:
        """Generate the anchor text of the link to the page."""
        draw = self.random.random()
        if draw < 0.6:
            return self.title
        if draw < 0.8:
            return make_heading(self.lexicon, self.random.random)
        return self.random.choice(EMPTY)


def label_page(number: int) -> list[SentenceRow]:
    """Return the labelled sentences of one generated page."""
    writer = Writer(number)
    html, anchor = writer.render_page(), writer.make_anchor()
    url = f"made-up:{number}"
    page = parse_response(
        Response(url, url, 200, {"content-type": "text/html; charset=utf-8"}, html.encode()), Link(url), styles=True
    )
    assert isinstance(page, Page)
    return [
        SentenceRow(row.page, row.number, row.sentence, row.features, row.sentence in writer.summary)
        for row in build_rows(page, load_lexicon("en"), name=url, anchor=anchor)
    ]


def label_pages(pages: Iterable[int]) -> list[SentenceRow]:
    """Return the labelled sentences of several generated pages."""
    return [row for number in pages for row in label_page(number)]


def format_result(name: str, count: ConfusionMatrix) -> str:
    """Format an evaluation result as one line."""
    return (
        f"{name}: {count.sentences} sentences, {count.positives} in the summary; accuracy {count.accuracy:.3f} "
        f"(always no: {count.majority_accuracy:.3f}), precision {count.precision:.3f}, recall {count.recall:.3f}"
    )


def main() -> None:
    """Train the network, print its accuracy and write it."""
    parser = argparse.ArgumentParser(description="Train the English network of the strategy `summary`.")
    parser.add_argument("--table", type=Path, help="TSV file for the labelled sentences of all pages")
    options = parser.parse_args()
    training, held_out = label_pages(range(PAGES)), label_pages(range(PAGES, PAGES + HELD_OUT))
    if options.table is not None:
        write_rows(options.table, [*training, *held_out])
    network = fit_network(training)
    count = evaluate_network(network, held_out)
    print(format_result(f"{PAGES} training pages", evaluate_network(network, training)))
    print(format_result(f"{HELD_OUT} held-out pages", count))
    made_from = {
        "data": "tools/make_summary_data.py",
        "pages": PAGES,
        "sentences": len(training),
        "held_out_pages": HELD_OUT,
        "held_out_accuracy": round(count.accuracy, 4),
        "held_out_majority": round(count.majority_accuracy, 4),
    }
    write_model(NETWORK, MODEL_KIND, serialize_network(network, "en"), made_from)


if __name__ == "__main__":
    main()
