"""A thesaurus of one's own as an ontology: SKOS (RDF/XML, Turtle, N-Triples) or a table.

Of SKOS are read, whatever else a file may say: prefLabel, altLabel and hiddenLabel in the languages asked for or
without a language; broader and narrower as "is a kind of"; related as a step aside. Likewise rdfs:label and
rdfs:subClassOf, so that class trees of OWL serve too, and the finer relations of ISO 25964, of which
broaderPartitive and narrowerPartitive are "is part of". A concept is a synset and its labels are its terms; what
stands in parentheses at a label's end, "Mercury (planet)", tells homonyms apart and is no part of the term.

A line of a table is two terms with a relation between them, separated by tabs; a line that begins with # is a comment:

    dengue fever⇥is_a⇥viral disease
    breakbone fever⇥same_as⇥dengue fever
    rash⇥part_of⇥dengue fever
    dengue fever⇥related⇥mosquito

A text's terms are found in their inflections, as the language's stems have it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence

from topicrawl.text import rdf_xml, turtle
from topicrawl.text.lexicon import Lexicon, lexicon
from topicrawl.text.ontology import Ontology
from topicrawl.text.rdf_xml import Triple
from topicrawl.text.tokens import words

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_ISO = "http://purl.org/iso25964/skos-thes#"
_LABELS = (f"{_SKOS}prefLabel", f"{_RDFS}label", f"{_SKOS}altLabel", f"{_SKOS}hiddenLabel")
#: Predicate → relation, and whether it is told from above.
_RELATIONS = {
    f"{_SKOS}broader": ("is_a", False),
    f"{_SKOS}narrower": ("is_a", True),
    f"{_SKOS}related": ("related", False),
    f"{_RDFS}subClassOf": ("is_a", False),
    f"{_ISO}broaderGeneric": ("is_a", False),
    f"{_ISO}narrowerGeneric": ("is_a", True),
    f"{_ISO}broaderInstantial": ("is_a", False),
    f"{_ISO}narrowerInstantial": ("is_a", True),
    f"{_ISO}broaderPartitive": ("part_of", False),
    f"{_ISO}narrowerPartitive": ("part_of", True),
}
_WORDS = ("is_a", "part_of", "same_as", "related")
_QUALIFIER = re.compile(r"\s*\([^()]*\)\s*$")
_XML = re.compile(r"\s*<(\?xml|!DOCTYPE|!--|[\w.-]+:RDF\b|RDF\b)")
_TURTLE = re.compile(r"(\s|#[^\n]*\n)*(@?(prefix|base)\s|<|_:|\[)", re.IGNORECASE)


def read(text: str, name: str, languages: Sequence[str] = ("en",)) -> Ontology:
    """The thesaurus in a text; mistakes in it are a ValueError of one line that says where in `name`.

    >>> net = read("owl\\tis_a\\tbird\\nhooter\\tsame_as\\towl", "owls.tsv")
    >>> net.synonyms("owls"), net.related("hooter")
    (('owl', 'hooter'), ('owl', 'bird'))
    """
    text = text.removeprefix("\ufeff")
    draft = _Draft(name)
    if _XML.match(text):
        _take(draft, rdf_xml.triples(text, name), languages)
    elif _TURTLE.match(text):
        _take(draft, turtle.triples(text, name), languages)
    else:
        _take_table(draft, text.splitlines())
    return draft.finished(lexicon(languages[0] if languages else "en"))


def _take(draft: _Draft, triples: Iterator[Triple], languages: Sequence[str]) -> None:
    wanted = {"", *(language.partition("-")[0].lower() for language in languages)}
    others: set[str] = set()
    labels: dict[str, list[Triple]] = {predicate: [] for predicate in _LABELS}
    for triple in triples:
        if triple.predicate in labels and triple.language is not None:
            if triple.language.partition("-")[0].lower() in wanted:
                labels[triple.predicate].append(triple)
            else:
                others.add(triple.language)
        elif triple.predicate in _RELATIONS and triple.language is None:
            relation, inverse = _RELATIONS[triple.predicate]
            # What a class tree says in brackets is a condition, not a concept.
            if not (triple.predicate.startswith(_RDFS) and triple.object.startswith("_:")):
                pair = (triple.object, triple.subject) if inverse else (triple.subject, triple.object)
                draft.relate(relation, *pair)
    # Preferred labels first: they are the most usual terms.
    for predicate in _LABELS:
        for triple in labels[predicate]:
            draft.label(triple.subject, triple.object)
    if not draft.labels:
        where = f"; it has labels in {', '.join(sorted(others))}" if others else ""
        raise ValueError(f"{draft.name}: no concept with a label in {', '.join(languages)}{where}")


def _take_table(draft: _Draft, lines: Iterable[str]) -> None:
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.rstrip().split("\t")]
        where = f"{draft.name}:{number}"
        if len(fields) != 3:
            raise ValueError(f"{where}: expected term, relation, term, with tabs between, found {line[:80]!r}")
        term, relation, other = fields
        if relation not in _WORDS:
            near = difflib.get_close_matches(relation.lower(), _WORDS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it is one of {', '.join(_WORDS)}"
            raise ValueError(f"{where}: unknown relation {relation[:40]!r}; {hint}")
        # The qualifier of a homonym belongs to the concept, though not to the term.
        one, two = " ".join(words(term)), " ".join(words(other))
        if not (one and two):
            raise ValueError(f"{where}: a term without a letter or digit: {line[:80]!r}")
        draft.label(one, term)
        draft.label(two, other)
        draft.relate(relation, one, two)
    if not draft.labels:
        raise ValueError(f"{draft.name}: no terms in it: write lines of term, relation, term, with tabs between")


class _Draft:
    """A thesaurus while it is read: concepts by their address."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.labels: dict[str, list[str]] = {}  # concept → its terms
        self._pairs: dict[str, list[tuple[str, str]]] = {word: [] for word in _WORDS}

    def label(self, concept: str, text: str) -> None:
        term = " ".join(words(_QUALIFIER.sub("", text))) or " ".join(words(text))
        if term and term not in self.labels.get(concept, ()):
            self.labels.setdefault(concept, []).append(term)

    def relate(self, relation: str, one: str, other: str) -> None:
        self._pairs[relation].append((one, other))

    def finished(self, language: Lexicon) -> Ontology:
        first = self._joined()
        concepts = [*self.labels, *(one for pairs in self._pairs.values() for pair in pairs for one in pair)]
        numbers = {concept: at for at, concept in enumerate(dict.fromkeys(first.get(c, c) for c in concepts))}
        synset = {concept: numbers[first.get(concept, concept)] for concept in concepts}
        terms: list[list[str]] = [[] for _ in numbers]
        for concept, named in self.labels.items():
            terms[synset[concept]] += [term for term in named if term not in terms[synset[concept]]]
        rows = {}
        for relation in ("is_a", "part_of", "related"):
            above: list[dict[int, None]] = [{} for _ in numbers]
            for one, other in self._pairs[relation]:
                above[synset[one]][synset[other]] = None
                if relation == "related":
                    above[synset[other]][synset[one]] = None
            rows[relation] = [tuple(row) for row in above]
        shown = [
            named[0] if named else " ".join(concept.split()) for named, concept in zip(terms, numbers, strict=True)
        ]
        for relation in ("is_a", "part_of"):
            self._refuse_circle(rows[relation], shown)
        return _ontology(self.name, terms, rows, language)

    def _joined(self) -> dict[str, str]:
        """Concept → the one that stands for all it is the same as."""
        first: dict[str, str] = {}

        def root(concept: str) -> str:
            while concept in first:
                # Every look shortens the way for the next one.
                first[concept] = first.get(first[concept], first[concept])
                concept = first[concept]
            return concept

        for one, other in self._pairs["same_as"]:
            here, there = root(one), root(other)
            if here != there:
                first[here] = there
        return {concept: root(concept) for concept in list(first)}

    def _refuse_circle(self, above: Sequence[Sequence[int]], shown: Sequence[str]) -> None:
        done: set[int] = set()
        for start in range(len(above)):
            way: list[int] = []
            places: dict[int, int] = {}
            branches = [iter((start,))]
            while branches:
                step = next(branches[-1], None)
                if step is None:
                    branches.pop()
                    if way:
                        done.add(way[-1])
                        del places[way.pop()]
                elif step in places:
                    circle = [shown[at] for at in (*way[places[step] :], step)]
                    middle = circle if len(circle) <= 8 else [*circle[:7], "…", circle[-1]]
                    raise ValueError(f"{self.name}: goes round in a circle: {' → '.join(middle)}; take one step out")
                elif step not in done:
                    places[step] = len(way)
                    way.append(step)
                    branches.append(iter(above[step]))


def _ontology(
    name: str, terms: Sequence[Sequence[str]], rows: dict[str, list[tuple[int, ...]]], language: Lexicon
) -> Ontology:
    known = list(dict.fromkeys(term for named in terms for term in named))
    place = {term: at for at, term in enumerate(known)}
    exact: dict[str, list[int]] = {}
    stemmed: dict[str, list[int]] = {}
    for synset, named in enumerate(terms):
        for term in named:
            exact.setdefault(term, []).append(synset)
            stemmed.setdefault(_stem(term, language), []).append(synset)

    def lookup(term: str) -> tuple[int, ...]:
        return tuple(dict.fromkeys((*exact.get(term, ()), *stemmed.get(_stem(term, language), ()))))

    members = [[place[term] for term in named] for named in terms]
    aside = {synset: row for synset, row in enumerate(rows["related"]) if row}
    return Ontology(name, known, lookup, members, rows["is_a"], rows["part_of"], aside, fold=language.stem)


def _stem(term: str, language: Lexicon) -> str:
    return " ".join(map(language.stem, term.split(" ")))
