"""Thesauri: the same one in four formats is the same ontology, and a broken one says where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text.ontology import Ontology
from topicrawl.text.thesaurus import read

TABLE = """\
# diseases
Dengue fever\tis_a\tviral disease
viral disease\tis_a\tdisease
breakbone fever\tsame_as\tdengue fever
rash\tpart_of\tdengue fever

dengue fever\trelated\tmosquito
"""
RDF_XML = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE rdf:RDF [<!ENTITY skos "http://www.w3.org/2004/02/skos/core#">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#"
    xmlns:iso="http://purl.org/iso25964/skos-thes#" xml:base="http://x/">
  <skos:Concept rdf:about="dengue">
    <skos:prefLabel xml:lang="en">Dengue fever</skos:prefLabel>
    <skos:prefLabel xml:lang="de">Denguefieber</skos:prefLabel>
    <skos:altLabel xml:lang="en-GB">breakbone fever</skos:altLabel>
    <skos:broader>
      <skos:Concept rdf:about="http://x/viral" skos:prefLabel="viral disease"><skos:broader rdf:resource="disease"/>
      </skos:Concept>
    </skos:broader>
    <skos:related rdf:resource="mosquito"/>
    <skos:definition rdf:parseType="Literal">A <b>disease</b></skos:definition>
  </skos:Concept>
  <rdf:Description rdf:about="disease"><skos:prefLabel>Disease (medicine)</skos:prefLabel>
    <rdf:type rdf:resource="&skos;Concept"/></rdf:Description>
  <skos:Concept rdf:about="rash"><skos:prefLabel>rash</skos:prefLabel>
    <iso:broaderPartitive rdf:resource="dengue"/></skos:Concept>
  <skos:Concept rdf:about="mosquito"><skos:prefLabel>mosquito</skos:prefLabel></skos:Concept>
</rdf:RDF>
"""
TURTLE = """\
# diseases
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
PREFIX iso: <http://purl.org/iso25964/skos-thes#>
@base <http://x/> .
<dengue> a skos:Concept ; skos:prefLabel "Dengue fever"@en, 'Denguefieber'@de ;
  skos:altLabel \"\"\"breakbone "fever\\"\"\"\"@en-GB ; skos:related <mosquito> ; skos:note [ skos:value 3.5 ; ] ;
  skos:members ( <rash> "two" ) .
<viral> skos:prefLabel "viral disease" ; skos:narrower <dengue> ; skos:broader <disease> ; .
<disease> skos:prefLabel "Disease (medicine)"^^<http://www.w3.org/2001/XMLSchema#string> .
<rash> skos:prefLabel "r\\u0061sh" ; iso:broaderPartitive <dengue> .
<mosquito> skos:prefLabel "mosquito" .
"""
SKOS = "http://www.w3.org/2004/02/skos/core#"
TRIPLES = f"""\
<http://x/dengue> <{SKOS}prefLabel> "Dengue fever"@en .
<http://x/dengue> <{SKOS}altLabel> "breakbone fever"@en .
<http://x/dengue> <{SKOS}broader> <http://x/viral> .
<http://x/viral> <{SKOS}prefLabel> "viral disease" .
<http://x/viral> <{SKOS}broader> _:disease .
_:disease <{SKOS}prefLabel> "disease" .
<http://x/rash> <{SKOS}prefLabel> "rash" .
<http://x/rash> <http://purl.org/iso25964/skos-thes#broaderPartitive> <http://x/dengue> .
<http://x/mosquito> <{SKOS}prefLabel> "mosquito" .
<http://x/dengue> <{SKOS}related> <http://x/mosquito> .
"""


def one(net: Ontology, term: str) -> int:
    (synset,) = net.senses(term)
    return synset


@pytest.mark.parametrize("text", [TABLE, RDF_XML, TURTLE, TRIPLES], ids=["table", "RDF/XML", "Turtle", "N-Triples"])
def test_the_same_thesaurus_in_any_format_is_the_same_ontology(text: str) -> None:
    for net in (read(text, "f"), read("\ufeff" + text.replace("\n", "\r\n"), "f")):
        dengue, disease = one(net, "dengue fevers"), one(net, "diseases")
        assert set(net.words(dengue)) == {"dengue fever", "breakbone fever"}
        assert net.distance(dengue, disease) == 2
        assert [net.depth(one(net, term)) for term in ("disease", "viral disease", "dengue fever")] == [1, 2, 3]
        assert net.distance(one(net, "rash"), disease) is None
        assert net.distance(one(net, "rash"), disease, parts=True) == 3
        assert net.distance(one(net, "mosquitoes"), dengue, parts=True) == 1
        assert net.phrases(["a", "viral", "disease"]) == ["viral disease"]
        assert net.senses("denguefieber") == ()


def test_labels_are_taken_in_the_languages_asked_for() -> None:
    net = read(RDF_XML, "f", ("de",))
    assert net.senses("denguefieber")
    assert not net.senses("dengue fever")
    assert net.senses("mosquito"), "a label without a language is of all"


def test_homonyms_are_told_apart_by_what_stands_in_parentheses() -> None:
    net = read("mercury (planet)\tis_a\tplanet\nmercury (metal)\tis_a\tmetal\nC#\tis_a\tlanguage", "f.tsv")
    assert len(net.senses("mercury")) == 2
    assert net.senses("c")


def test_a_class_tree_serves_too() -> None:
    text = """@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix : <http://x/> .
    :Owl rdfs:label "owl" ; rdfs:subClassOf :Bird, [ :onProperty :eats ] . :Bird rdfs:label "bird" ."""
    net = read(text, "f.ttl")
    assert net.parents(one(net, "owl")) == (one(net, "bird"),)


BOMB = '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rdf:RDF>&b;</rdf:RDF>'
OUTSIDE = '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/hostname">]><rdf:RDF>&a;</rdf:RDF>'
NAMESPACE = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "f: no terms in it"),
        ("# only a comment\n", "f: no terms in it"),
        ("a\tis_a\tb\nc is_a d", "f:2: expected term, relation, term"),
        ("a\tis_a", "f:1: expected term, relation, term"),
        ("a\tIS-A\tb", "f:1: unknown relation 'IS-A'; did you mean 'is_a'?"),
        ("a\tlikes\tb", "f:1: unknown relation 'likes'; it is one of is_a, part_of, same_as, related"),
        ("a\tis_a\t--", "f:1: a term without a letter or digit"),
        ("x\tis_a\ta\na\tis_a\tb\nb\tis_a\tc\nc\tis_a\ta", "f: goes round in a circle: a → b → c → a"),
        ("a\tpart_of\ta", "f: goes round in a circle: a → a"),
        ("a\tis_a\tb\nb\tsame_as\ta", "f: goes round in a circle"),
        ("<?xml version='1.0'?><rdf:RDF", "f:1: not valid XML"),
        (f"<rdf:RDF {NAMESPACE}>\n<a></b></rdf:RDF>", "f:2: not valid XML: mismatched tag"),
        (f"<rdf:RDF {NAMESPACE}/>", "f: no concept with a label in en"),
        ("<?xml version='1.0'?><html><p>text</p></html>", "f: no concept with a label in en"),
        (BOMB, "f:1: the entity 'b' is more than a short text"),
        (OUTSIDE, "f:1: the entity 'a' is more than a short text"),
        ("@prefix s: <http://s/> .\ns:a q:b s:c .", "f:2: not valid Turtle: the prefix 'q:' is not declared"),
        ("<a> <b> <c>", "f:1: not valid Turtle: expected an address, found ''"),
        ('<a> <b> "c" ]', "f:1: not valid Turtle: expected '.', found ']'"),
        ("<a> <b> {c}", "f:1: not valid Turtle: cannot read '{c}'"),
        ("<a> <b> " + "[ <b> " * 60, "f:1: not valid Turtle: brackets nested more than 50 deep"),
        (f'<a> <{SKOS}prefLabel> "Eule"@de, "hibou"@fr .', "f: no concept with a label in en; it has labels in de, fr"),
        (f'<a> <{SKOS}prefLabel> "a" ; <{SKOS}broader> <b> . <b> <{SKOS}broader> <a> .', "circle: a → b → a"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=r"^f:") as caught:
        read(text, "f")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_long_circle_is_not_told_in_full() -> None:
    text = "\n".join(f"t{n}\tis_a\tt{(n + 1) % 500}" for n in range(500))
    with pytest.raises(ValueError, match="…") as caught:
        read(text, "f")
    assert len(str(caught.value)) < 150


def test_a_long_chain_is_read() -> None:
    net = read("\n".join(f"t{n}\tis_a\tt{n + 1}" for n in range(3000)), "f")
    assert net.depth(one(net, "t0")) == 3001
    same = read("\n".join(f"t{n}\tsame_as\tt{n + 1}" for n in range(3000)), "f")
    assert len(same) == 1


@given(st.text(alphabet=st.sampled_from('<>"a:;.,[]()@^#\\\t\n is_a part_of?!&'), max_size=60))
def test_any_text_is_a_thesaurus_or_one_line_of_complaint(text: str) -> None:
    for start in ("", "<?xml?>", "@prefix a: <b> . "):
        complaint = outcome(start + text)
        assert complaint == "" or (complaint.startswith("f:") and "\n" not in complaint)


def outcome(text: str) -> str:
    """What reading a text complains of; nothing, if it is a thesaurus."""
    try:
        return "" if len(read(text, "f")) else "an empty one"
    except ValueError as error:
        return str(error)
