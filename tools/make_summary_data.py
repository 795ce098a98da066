"""Make labelled sentences and the English network from them, src/topicrawl/text/data/summary.en.json.

    python tools/make_summary_data.py                      # writes the network, prints how good it is
    python tools/make_summary_data.py --table sentences.tsv   # writes the labelled sentences too

Nobody has read these pages: they are made up, with the vocabulary of the made-up web, and each sentence is labelled
by the part it was written for. How pages are written follows what is known of pages by people:

- The sentence that says what a paragraph is about is its first in 85 of 100 paragraphs and its last in 7
  (Baxendale 1958); elsewhere it stands in the middle. It is about the page's subject, and two times in three it has a
  word of the title, or all of it. It belongs into the summary. What surrounds it adds to it, or says nothing, and does
  not.
- Headings and larger opening lines belong into it; so does nothing of menus, lists of links, lists of references, boxes
  with news and offers from elsewhere, small print and notes. One paragraph in eight rambles and has nothing for it.
- The link that led to the page has words of the title, other words of the subject, or none that say anything. One
  page in seven has a title that says nothing.

A network can learn no more from this than where people put what matters. For a language and a kind of page of your
own, `topicrawl train summary` does it with real pages and a real reader.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from random import Random

from topicrawl.cli.training import write_model
from topicrawl.lab.sample_hosts import SUBJECTS
from topicrawl.lab.sample_pages import LAYOUTS, Layout
from topicrawl.lab.sample_plan import LEXICONS
from topicrawl.lab.sample_prose import Lexicon, heading, mixed, sentence, title
from topicrawl.lab.sample_words import BACKGROUND, PEOPLE
from topicrawl.lab.summary_labels import Row, rows_of, write_rows
from topicrawl.lab.summary_training import Count, fitted, measured
from topicrawl.parse import read
from topicrawl.records import Link, Page, Response
from topicrawl.relevance.summary_network import KIND, model_of
from topicrawl.text.lexicon import lexicon
from topicrawl.text.tokens import words

NETWORK = Path(__file__).parent.parent / "src" / "topicrawl" / "text" / "data" / "summary.en.json"
PAGES, HELD_OUT = 400, 100
VOCABULARIES = (*SUBJECTS, BACKGROUND)
NOTHING = len(SUBJECTS)
PROSE = (*LEXICONS, Lexicon(BACKGROUND))
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
    """Writes one page and notes which of its sentences belong into the summary."""

    def __init__(self, number: int) -> None:
        self.random = Random(mixed(7, 61, number))
        self.subject = number % len(SUBJECTS)
        self.other = (self.subject + 1 + self.random.randrange(len(SUBJECTS) - 1)) % len(SUBJECTS)
        self.lexicon = LEXICONS[self.subject]
        # Of all numbers, the multiples of four give titles that say nothing.
        telling = self.random.random() < 0.85
        self.title = title(self.lexicon, mixed(number, 5) // 4 * 4 + 1) if telling else "Notes"
        self.named = {word for word in words(self.title) if word not in lexicon("en").stop}
        self.layout: Layout = LAYOUTS[self.random.randrange(len(LAYOUTS))]
        self.summary: set[str] = {self.title}

    def said(self, subject: int) -> str:
        """A sentence on a subject, of 4 to 40 words as people write them."""
        draw = self.random.random()
        if draw < 0.2:
            vocabulary = VOCABULARIES[subject]
            short = f"{self.random.choice(vocabulary.matters)} often {self.random.choice(vocabulary.deeds)}."
            return short[0].upper() + short[1:]
        first = sentence(PROSE[subject], self.random.random)
        if draw < 0.65:
            return first
        second = sentence(PROSE[subject], self.random.random)
        return f"{first[:-1]}, and {second[0].lower()}{second[1:]}"

    def about(self, chance: float) -> str:
        """A sentence on the page's subject, with a word of the title as often as chance wants it."""
        drawn = self.said(self.subject)
        wanted = self.random.random() < chance
        for _ in range(60):
            if wanted == (not self.named.isdisjoint(words(drawn))):
                break
            drawn = self.said(self.subject)
        return drawn

    def point(self) -> str:
        """What a paragraph is about, now and then with the whole title in it."""
        drawn = self.about(2 / 3)
        if self.random.random() < 0.2:
            return f"{drawn[:-1]}, and this is what {self.title[0].lower()}{self.title[1:]} is about."
        return drawn

    def paragraph(self) -> str:
        size = self.random.choice((1, 1, 2, 3, 3, 4, 5, 6))
        said = [self.about(0.15) if self.random.random() < 0.4 else self.said(NOTHING) for _ in range(size)]
        if self.random.random() < 7 / 8:
            draw = self.random.random()
            at = 0 if draw < 0.85 else size - 1 if draw < 0.92 else self.random.randrange(size)
            said[at] = self.point()
            self.summary.add(said[at])
        return self.layout.paragraph % " ".join(said)

    def box(self) -> str:
        """News and offers from elsewhere."""
        said = [self.said(self.other) for _ in range(self.random.randrange(1, 4))]
        said.insert(self.random.randrange(2), self.random.choice(OFFERS))
        return f"<div>{' '.join(said)}</div>\n"

    def small(self) -> str:
        said = " ".join(self.random.sample(SMALL_PRINT, self.random.randrange(1, 4)))
        dress = ("<small>%s</small>", '<p style="font-size:11px">%s</p>', "<font size=1>%s</font>", "<p>%s</p>")
        return self.random.choice(dress) % said

    def text(self) -> str:
        parts = []
        if self.random.random() < 0.3:
            opening = self.about(0.8)
            self.summary.add(opening)
            parts.append(f'<p style="font-size:{self.random.choice((18, 20, 22))}px">{opening}</p>\n')
        for _ in range(self.random.randrange(2, 9)):
            if parts and self.random.random() < 0.4:
                said = heading(self.lexicon, self.random.random)
                self.summary.add(said)
                parts.append(self.layout.heading % said)
            parts.append(self.paragraph())
            if self.random.random() < 0.2:
                parts.append(self.box())
        return "".join(parts)

    def references(self) -> str:
        """What others have written on the subject, in long lines."""
        if self.random.random() < 0.8:
            return ""
        lines = []
        for _ in range(self.random.randrange(3, 9)):
            written = title(self.lexicon, mixed(self.random.getrandbits(32), 9))
            of = heading(self.lexicon, self.random.random)
            year, first = self.random.randrange(1950, 2020), self.random.randrange(400)
            who = self.random.choice(PEOPLE)
            lines.append(f"{who}, {written}, in {of}, volume {year % 37}, {year}, pages {first} to {first + 12}")
        return self.layout.items % "".join(self.layout.item % line for line in lines)

    def listed(self, subject: int, most: int) -> str:
        """Links to other pages; their titles are no sentences of this one."""
        titles = [title(LEXICONS[subject], mixed(self.random.getrandbits(32), 9)) for _ in range(most)]
        titles = [text for text in titles if text not in self.summary]
        return self.layout.items % "".join(
            self.layout.item % f'<a href="/{at}">{text}</a>' for at, text in enumerate(titles)
        )

    def page(self) -> str:
        size = self.random.choice(
            ("", "", "body { font-size: 14px }", "p { font-size: 13px }", "body { font-size: 18px }")
        )
        return self.layout.page % {
            "charset": "utf-8",
            "title": self.title,
            "site": "made up",
            "dress": size,
            "menu": MENU,
            "text": self.text() + self.references(),
            "listed": self.listed(self.subject, self.random.randrange(4)),
            "aside": self.listed(self.other, self.random.randrange(5)),
            "footer": self.small(),
        }

    def anchor(self) -> str:
        draw = self.random.random()
        if draw < 0.6:
            return self.title
        if draw < 0.8:
            return heading(self.lexicon, self.random.random)
        return self.random.choice(EMPTY)


def labelled(number: int) -> list[Row]:
    """The sentences of one made-up page, each with its label."""
    writer = Writer(number)
    html, anchor = writer.page(), writer.anchor()
    url = f"made-up:{number}"
    page = read(
        Response(url, url, 200, {"content-type": "text/html; charset=utf-8"}, html.encode()), Link(url), styles=True
    )
    assert isinstance(page, Page)
    return [
        Row(row.page, row.number, row.sentence, row.features, row.sentence in writer.summary)
        for row in rows_of(page, lexicon("en"), name=url, anchor=anchor)
    ]


def table(pages: Iterable[int]) -> list[Row]:
    return [row for number in pages for row in labelled(number)]


def told(name: str, count: Count) -> str:
    return (
        f"{name}: {count.sentences} sentences, {count.yes} of them for the summary; right {count.accuracy:.3f} "
        f"(always no: {count.majority:.3f}), precision {count.precision:.3f}, recall {count.recall:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the English network of the strategy `summary`.")
    parser.add_argument("--table", type=Path, help="file for the labelled sentences of all pages, as TSV")
    asked = parser.parse_args()
    seen, unseen = table(range(PAGES)), table(range(PAGES, PAGES + HELD_OUT))
    if asked.table is not None:
        write_rows(asked.table, [*seen, *unseen])
    network = fitted(seen)
    count = measured(network, unseen)
    print(told(f"{PAGES} pages it was trained on", measured(network, seen)))
    print(told(f"{HELD_OUT} pages held out", count))
    made_from = {
        "data": "tools/make_summary_data.py",
        "pages": PAGES,
        "sentences": len(seen),
        "held_out_pages": HELD_OUT,
        "held_out_accuracy": round(count.accuracy, 4),
        "held_out_majority": round(count.majority, 4),
    }
    write_model(NETWORK, KIND, model_of(network, "en"), made_from)


if __name__ == "__main__":
    main()
