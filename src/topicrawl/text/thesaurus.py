"""Parse a user's thesaurus into an ontology: SKOS (RDF/XML, Turtle, N-Triples; needs the extra `rdf`) or a table.

From SKOS, the parser reads prefLabel, altLabel and hiddenLabel in the requested languages or without a language;
broader and narrower as "is a kind of"; and related. It also reads rdfs:label and rdfs:subClassOf, so that OWL class
hierarchies work too, and the more specific relations of ISO 25964, of which broaderPartitive and narrowerPartitive mean
"is part of". Everything else in the file is ignored. A concept becomes a synset, and its labels become its terms. A
qualifier in parentheses at the end of a label, "Mercury (planet)", distinguishes homonyms and is not part of the term.

Each line of a table has a term, a relation and a term, separated by tabs. Lines that begin with # are comments:

    dengue fever⇥is_a⇥viral disease
    breakbone fever⇥same_as⇥dengue fever
    rash⇥part_of⇥dengue fever
    dengue fever⇥related⇥mosquito

Inflected forms of the terms in a text are matched by the stems of the language.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from topicrawl.text.lexicon import LanguageLexicon, load_lexicon
from topicrawl.text.ontology import Ontology
from topicrawl.text.rdf import RdfTriple, parse_rdf_xml, parse_turtle
from topicrawl.text.tokenizer import tokenise

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_ISO = "http://purl.org/iso25964/skos-thes#"
_LABELS = (f"{_SKOS}prefLabel", f"{_RDFS}label", f"{_SKOS}altLabel", f"{_SKOS}hiddenLabel")
#: Predicate → relation, and whether the subject is the broader concept.
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
_RELATION_NAMES = ("is_a", "part_of", "same_as", "related")
_QUALIFIER = re.compile(r"\s*\([^()]*\)\s*$")
_XML = re.compile(r"\s*<(\?xml|!DOCTYPE|!--|[\w.-]+:RDF\b|RDF\b)")
_TURTLE = re.compile(r"(\s|#[^\n]*\n)*(@?(prefix|base)\s|<|_:|\[)", re.IGNORECASE)


def parse_thesaurus(text: str, name: str, languages: Sequence[str] = ("en",)) -> Ontology:
    """Parse a thesaurus. Raise a one-line `ValueError` with `name` and the line if the text is not valid.

    Raise `UsageError` if the text is RDF and rdflib is not installed.

    >>> net = parse_thesaurus("owl\\tis_a\\tbird\\nhooter\\tsame_as\\towl", "owls.tsv")
    >>> net.get_synonyms("owls"), net.get_related_terms("hooter")
    (('owl', 'hooter'), ('owl', 'bird'))
    """
    text = text.removeprefix("\ufeff")
    builder = _ThesaurusBuilder(name)
    if _XML.match(text):
        _load_triples(builder, parse_rdf_xml(text, name), languages)
    elif _TURTLE.match(text):
        _load_triples(builder, parse_turtle(text, name), languages)
    else:
        _load_table(builder, text.splitlines())
    return builder.build_ontology(load_lexicon(languages[0] if languages else "en"))


def _load_triples(builder: _ThesaurusBuilder, triples: Iterable[RdfTriple], languages: Sequence[str]) -> None:
    """Add the labels and relations of SKOS or OWL triples to a thesaurus."""
    wanted = {"", *(language.partition("-")[0].lower() for language in languages)}
    others: set[str] = set()
    labels: dict[str, list[RdfTriple]] = {predicate: [] for predicate in _LABELS}
    for triple in triples:
        if triple.predicate in labels and triple.language is not None:
            if triple.language.partition("-")[0].lower() in wanted:
                labels[triple.predicate].append(triple)
            else:
                others.add(triple.language)
        elif triple.predicate in _RELATIONS and triple.language is None:
            relation, inverse = _RELATIONS[triple.predicate]
            # A blank node in a class hierarchy is a condition, not a concept.
            if not (triple.predicate.startswith(_RDFS) and triple.object.startswith("_:")):
                pair = (triple.object, triple.subject) if inverse else (triple.subject, triple.object)
                builder.add_relation(relation, *pair)
    # Preferred labels come first, because they are the most usual terms.
    for predicate in _LABELS:
        for triple in labels[predicate]:
            builder.add_label(triple.subject, triple.object)
    if not builder.labels:
        where = f"; it has labels in {', '.join(sorted(others))}" if others else ""
        raise ValueError(f"{builder.name}: no concept with a label in {', '.join(languages)}{where}")


def _load_table(builder: _ThesaurusBuilder, lines: Iterable[str]) -> None:
    """Add the lines of a table to a thesaurus."""
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.rstrip().split("\t")]
        where = f"{builder.name}:{number}"
        if len(fields) != 3:
            raise ValueError(f"{where}: expected term, relation, term, separated by tabs, found {line[:80]!r}")
        term, relation, other = fields
        if relation not in _RELATION_NAMES:
            near = difflib.get_close_matches(relation.lower(), _RELATION_NAMES, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(_RELATION_NAMES)}"
            raise ValueError(f"{where}: unknown relation {relation[:40]!r}; {hint}")
        # The qualifier of a homonym identifies the concept, but is not part of the term.
        one, two = " ".join(tokenise(term)), " ".join(tokenise(other))
        if not (one and two):
            raise ValueError(f"{where}: a term has no letter or digit: {line[:80]!r}")
        builder.add_label(one, term)
        builder.add_label(two, other)
        builder.add_relation(relation, one, two)
    if not builder.labels:
        raise ValueError(
            f"{builder.name}: the file has no terms: write lines of term, relation, term, separated by tabs"
        )


class _ThesaurusBuilder:
    """Concepts and relations collected while a thesaurus is parsed. A concept is identified by its address."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.labels: dict[str, list[str]] = {}  # concept → its terms
        self._pairs: dict[str, list[tuple[str, str]]] = {word: [] for word in _RELATION_NAMES}

    def add_label(self, concept: str, text: str) -> None:
        """Add a label of a concept as a term."""
        term = " ".join(tokenise(_QUALIFIER.sub("", text))) or " ".join(tokenise(text))
        if term and term not in self.labels.get(concept, ()):
            self.labels.setdefault(concept, []).append(term)

    def add_relation(self, relation: str, one: str, other: str) -> None:
        """Add a relation between two concepts."""
        self._pairs[relation].append((one, other))

    def build_ontology(self, lexicon: LanguageLexicon) -> Ontology:
        """Build the ontology. Raise `ValueError` if a relation has a cycle."""
        representative = self._merge_synonyms()
        concepts = [*self.labels, *(one for pairs in self._pairs.values() for pair in pairs for one in pair)]
        numbers = {concept: at for at, concept in enumerate(dict.fromkeys(representative.get(c, c) for c in concepts))}
        synset = {concept: numbers[representative.get(concept, concept)] for concept in concepts}
        terms: list[list[str]] = [[] for _ in numbers]
        for concept, labels in self.labels.items():
            terms[synset[concept]] += [term for term in labels if term not in terms[synset[concept]]]
        rows = {}
        for relation in ("is_a", "part_of", "related"):
            above: list[dict[int, None]] = [{} for _ in numbers]
            for one, other in self._pairs[relation]:
                above[synset[one]][synset[other]] = None
                if relation == "related":
                    above[synset[other]][synset[one]] = None
            rows[relation] = [tuple(row) for row in above]
        names = [
            labels[0] if labels else " ".join(concept.split()) for labels, concept in zip(terms, numbers, strict=True)
        ]
        for relation in ("is_a", "part_of"):
            self._check_cycles(rows[relation], names)
        return _create_ontology(self.name, terms, rows, lexicon)

    def _merge_synonyms(self) -> dict[str, str]:
        """Return concept → representative of all concepts that are the same as it (union-find)."""
        representative: dict[str, str] = {}

        def find_root(concept: str) -> str:
            while concept in representative:
                # Path compression.
                representative[concept] = representative.get(representative[concept], representative[concept])
                concept = representative[concept]
            return concept

        for one, other in self._pairs["same_as"]:
            here, there = find_root(one), find_root(other)
            if here != there:
                representative[here] = there
        return {concept: find_root(concept) for concept in list(representative)}

    def _check_cycles(self, parents: Sequence[Sequence[int]], names: Sequence[str]) -> None:
        """Raise `ValueError` if a relation has a cycle (depth-first search)."""
        done: set[int] = set()
        for start in range(len(parents)):
            path: list[int] = []
            places: dict[int, int] = {}
            branches = [iter((start,))]
            while branches:
                step = next(branches[-1], None)
                if step is None:
                    branches.pop()
                    if path:
                        done.add(path[-1])
                        del places[path.pop()]
                elif step in places:
                    cycle = [names[at] for at in (*path[places[step] :], step)]
                    steps = cycle if len(cycle) <= 8 else [*cycle[:7], "…", cycle[-1]]
                    raise ValueError(f"{self.name}: the relations form a cycle: {' → '.join(steps)}; remove one step")
                elif step not in done:
                    places[step] = len(path)
                    path.append(step)
                    branches.append(iter(parents[step]))


def _create_ontology(
    name: str, terms: Sequence[Sequence[str]], rows: dict[str, list[tuple[int, ...]]], language: LanguageLexicon
) -> Ontology:
    """Build an ontology that finds terms by their exact spelling first, then by their stems."""
    all_terms = list(dict.fromkeys(term for labels in terms for term in labels))
    index_of = {term: at for at, term in enumerate(all_terms)}
    exact: dict[str, list[int]] = {}
    by_stem: dict[str, list[int]] = {}
    for synset, labels in enumerate(terms):
        for term in labels:
            exact.setdefault(term, []).append(synset)
            by_stem.setdefault(_stem_term(term, language), []).append(synset)

    def find_synsets(term: str) -> tuple[int, ...]:
        return tuple(dict.fromkeys((*exact.get(term, ()), *by_stem.get(_stem_term(term, language), ()))))

    members = [[index_of[term] for term in labels] for labels in terms]
    aside = {synset: row for synset, row in enumerate(rows["related"]) if row}
    return Ontology(name, all_terms, find_synsets, members, rows["is_a"], rows["part_of"], aside, stem=language.stem)


def _stem_term(term: str, language: LanguageLexicon) -> str:
    return " ".join(map(language.stem, term.split(" ")))
