"""Train summary networks for German and French on translated manuals, with labels from a rule.

    mkdir manuals && cd manuals
    for package in aptitude-doc debian-edu-doc debian-reference developers-reference maint-guide; do
        for language in de fr; do apt-get download $package-$language; done; done
    for file in *.deb; do dpkg-deb -x $file ${file%%_*}; done
    python tools/make_manual_summaries.py manuals              # writes src/topicrawl/text/data/summary.{de,fr}.json

The manuals are written by people, but no reader has labelled them. A rule does: the summary consists of the headings
and of the topic sentences. A topic sentence is the first sentence of a paragraph of at least two sentences (Baxendale
1958) if it contains a word of its heading or one of the ten terms of the page with the highest tf·idf. So the network
learns where the authors of manuals put such sentences, but not what a reader would choose. One manual is held out and
gives the figures; it is not used in the training.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from topicrawl.cli.train.inputs import write_model
from topicrawl.cli.train.label_sentences import parse_file
from topicrawl.lab.summary_labels import SentenceRow, build_rows
from topicrawl.lab.summary_training import evaluate_network, fit_network
from topicrawl.models import Page
from topicrawl.relevance.summary_network import MODEL_KIND, serialize_network
from topicrawl.text.lexicon import LanguageLexicon, load_lexicon
from topicrawl.text.tokenizer import tokenise

NETWORKS = Path(__file__).parent.parent / "src" / "topicrawl" / "text" / "data"
#: Manuals of each language (Debian packages without the language), the held-out one last.
MANUALS = {
    "de": ("debian-reference", "developers-reference", "debian-edu-doc", "maint-guide"),
    "fr": ("debian-reference", "developers-reference", "debian-edu-doc", "aptitude-doc", "maint-guide"),
}
SUBJECT_TERMS = 10  # terms of a page that stand for its subject
MAX_ROWS = 6000  # sentences for the training, drawn at random; as many as the English network has, about


def iterate_pages(folder: Path) -> Iterator[tuple[str, Page]]:
    """Yield the HTML pages of an unpacked package with their paths, each file once."""
    for path in sorted(folder.rglob("*.html")):
        if path.is_file() and not path.is_symlink():
            yield str(path.relative_to(folder)), parse_file(path)


def label_page(page: Page, name: str, lexicon: LanguageLexicon) -> list[SentenceRow]:
    """Return the sentences of a page with labels by the rule."""
    headings = {" ".join(heading.split()) for heading in page.headings}
    terms = [frozenset(lexicon.extract_terms(tokenise(sentence.text))) for sentence in page.sentences]
    sizes = Counter(sentence.paragraph for sentence in page.sentences)
    subject = find_subject_terms(terms, lexicon)
    heading_terms: frozenset[str] = frozenset()
    chosen, last_paragraph = set(), -1
    for number, sentence in enumerate(page.sentences):
        if sentence.text in headings:
            heading_terms = terms[number]
            chosen.add(number + 1)
        elif (
            sentence.paragraph != last_paragraph
            and sizes[sentence.paragraph] > 1
            and not terms[number].isdisjoint(heading_terms | subject)
        ):
            chosen.add(number + 1)
        last_paragraph = sentence.paragraph
    return [
        SentenceRow(row.page, row.number, row.sentence, row.features, row.number in chosen)
        for row in build_rows(page, lexicon, name=name)
    ]


def find_subject_terms(sentences: Sequence[frozenset[str]], lexicon: LanguageLexicon) -> frozenset[str]:
    """Return the terms of a page with the highest tf·idf."""
    counts = Counter(term for sentence in sentences for term in sentence)
    weights = {term: count * lexicon.idf(term) for term, count in counts.items()}
    return frozenset(sorted(weights, key=lambda term: (-weights[term], term))[:SUBJECT_TERMS])


def label_manuals(folders: Sequence[Path], language: str) -> list[SentenceRow]:
    """Return the labelled sentences of manuals. A sentence that many pages share (a footer) is counted once."""
    lexicon, rows = load_lexicon(language), []
    known: set[str] = set()
    for folder in folders:
        for name, page in iterate_pages(folder):
            if page.language == language:
                rows += [row for row in label_page(page, name, lexicon) if row.sentence not in known]
                known.update(row.sentence for row in rows[-len(page.sentences) :])
    return rows


def main() -> None:
    """Train the networks, print their figures on the held-out manual and write them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("manuals", type=Path, help="folder with the unpacked packages, named as the packages")
    folder = parser.parse_args().manuals
    for language, packages in MANUALS.items():
        *training, held_out = [folder / f"{package}-{language}" for package in packages]
        rows, test = label_manuals(training, language), label_manuals([held_out], language)
        Random(0).shuffle(rows)
        network = fit_network(rows[:MAX_ROWS])
        count = evaluate_network(network, test)
        print(
            f"{language}: {len(rows):,} sentences of {len(training)} manuals, {len(test):,} of {held_out.name}, "
            f"{count.positives} in the summary; accuracy {count.accuracy:.3f} (always no: "
            f"{count.majority_accuracy:.3f}), precision {count.precision:.3f}, recall {count.recall:.3f}"
        )
        made_from = {
            "data": "tools/make_manual_summaries.py",
            "labels": "rule: headings, and first sentences of paragraphs with a word of the heading or the subject",
            "manuals": [path.name for path in training],
            "sentences": min(MAX_ROWS, len(rows)),
            "held_out_manual": held_out.name,
            "held_out_sentences": len(test),
            "held_out_accuracy": round(count.accuracy, 4),
            "held_out_majority": round(count.majority_accuracy, 4),
            "held_out_precision": round(count.precision, 4),
            "held_out_recall": round(count.recall, 4),
        }
        path = NETWORKS / f"summary.{language}.json"
        write_model(path, MODEL_KIND, serialize_network(network, language), made_from)


if __name__ == "__main__":
    main()
