"""Tests of thesaurus parsing: four formats give the same ontology, and errors name the position."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.live_site import live_site

from topicrawl.errors import UsageError
from topicrawl.text.ontology import Ontology
from topicrawl.text.thesaurus import parse_thesaurus

rdflib = pytest.importorskip("rdflib", reason="rdflib is not installed: make install")

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
    (synset,) = net.get_senses(term)
    return synset


@pytest.mark.parametrize("text", [TABLE, RDF_XML, TURTLE, TRIPLES], ids=["table", "RDF/XML", "Turtle", "N-Triples"])
def test_all_formats_give_the_same_ontology(text: str) -> None:
    for net in (parse_thesaurus(text, "f"), parse_thesaurus("\ufeff" + text.replace("\n", "\r\n"), "f")):
        dengue, disease = one(net, "dengue fevers"), one(net, "diseases")
        assert set(net.get_terms(dengue)) == {"dengue fever", "breakbone fever"}
        assert net.distance(dengue, disease) == 2
        assert [net.depth(one(net, term)) for term in ("disease", "viral disease", "dengue fever")] == [1, 2, 3]
        assert net.distance(one(net, "rash"), disease) is None
        assert net.distance(one(net, "rash"), disease, include_parts=True) == 3
        assert net.distance(one(net, "mosquitoes"), dengue, include_parts=True) == 1
        assert net.find_phrases(["a", "viral", "disease"]) == ["viral disease"]
        assert net.get_senses("denguefieber") == ()


def test_labels_are_selected_by_language() -> None:
    net = parse_thesaurus(RDF_XML, "f", ("de",))
    assert net.get_senses("denguefieber")
    assert not net.get_senses("dengue fever")
    assert net.get_senses("mosquito"), "a label without a language is of all"


def test_qualifier_in_parentheses_distinguishes_homonyms() -> None:
    net = parse_thesaurus("mercury (planet)\tis_a\tplanet\nmercury (metal)\tis_a\tmetal\nC#\tis_a\tlanguage", "f.tsv")
    assert len(net.get_senses("mercury")) == 2
    assert net.get_senses("c")


def test_owl_class_hierarchy() -> None:
    text = """@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix : <http://x/> .
    :Owl rdfs:label "owl" ; rdfs:subClassOf :Bird, [ :onProperty :eats ] . :Bird rdfs:label "bird" ."""
    net = parse_thesaurus(text, "f.ttl")
    assert net.get_parents(one(net, "owl")) == (one(net, "bird"),)


BOMB = '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rdf:RDF>&b;</rdf:RDF>'
OUTSIDE = '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/hostname">]><rdf:RDF>&a;</rdf:RDF>'
NAMESPACE = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f: the file has no terms"),
        ("# only a comment\n", "f: the file has no terms"),
        ("a\tis_a\tb\nc is_a d", "f:2: expected term, relation, term"),
        ("a\tis_a", "f:1: expected term, relation, term"),
        ("a\tIS-A\tb", "f:1: unknown relation 'IS-A'; did you mean 'is_a'?"),
        ("a\tlikes\tb", "f:1: unknown relation 'likes'; use one of is_a, part_of, same_as, related"),
        ("a\tis_a\t--", "f:1: a term has no letter or digit"),
        ("x\tis_a\ta\na\tis_a\tb\nb\tis_a\tc\nc\tis_a\ta", "f: the relations form a cycle: a → b → c → a"),
        ("a\tpart_of\ta", "f: the relations form a cycle: a → a"),
        ("a\tis_a\tb\nb\tsame_as\ta", "f: the relations form a cycle"),
        ("<?xml version='1.0'?><rdf:RDF", "f:1: not valid XML"),
        (f"<rdf:RDF {NAMESPACE}>\n<a></b></rdf:RDF>", "f:2: not valid XML: mismatched tag"),
        (f"<rdf:RDF {NAMESPACE}/>", "f: no concept with a label in en"),
        ("<?xml version='1.0'?><html><p>text</p></html>", "f: no concept with a label in en"),
        (BOMB, "f:1: the entity 'b' is not a short text"),
        (OUTSIDE, "f:1: the entity 'a' is not a short text"),
        (f"<rdf:RDF {NAMESPACE}>\n<s:a/></rdf:RDF>", "f:2: not valid XML: unbound prefix"),
        (f"<rdf:RDF {NAMESPACE}>\n<rdf:li/></rdf:RDF>", "f:2: not valid RDF/XML: Invalid node element URI"),
        (
            f"<rdf:RDF {NAMESPACE}><a xml:lang='!'><b>c</b></a></rdf:RDF>",
            "f: not valid RDF/XML: '!' is not a valid lang",
        ),
        (
            "@prefix s: <http://s/> .\ns:a q:b s:c .",
            "f:2: not valid Turtle: Prefix \"q:\" not bound, found 'q:b s:c .'",
        ),
        ("<a> <b> <c>", "f: not valid Turtle: unexpected end of the file"),
        ('<a> <b> "c" ]', "f:1: not valid Turtle: expected directive or statement, found ']'"),
        ("<a> <b> {c}", "f:1: not valid Turtle: objectList expected, found '{c}'"),
        ("<a> <\\U00110000> <c> .", "f: not valid Turtle: Invalid unicode code point"),
        ("<a> <b> " + "[ <b> " * 10_000, "f: not valid Turtle: brackets are nested too deeply"),
        ("<a> <b> " + "( " * 10_000, "f: not valid Turtle: brackets are nested too deeply"),
        (f'<a> <{SKOS}prefLabel> "Eule"@de, "hibou"@fr .', "f: no concept with a label in en; it has labels in de, fr"),
        (f'<a> <{SKOS}prefLabel> "a" ; <{SKOS}broader> <b> . <b> <{SKOS}broader> <a> .', "cycle: a → file:///b → a"),
    ],
)
def test_errors_are_one_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^f:") as caught:
        parse_thesaurus(text, "f")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


EXTERNAL = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF SYSTEM "{address}/dtd">
<?xml-stylesheet href="{address}/style"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#"
    xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:xi="http://www.w3.org/2001/XInclude" xml:base="{address}/">
  <owl:Ontology rdf:about="owls"><owl:imports rdf:resource="{address}/import"/></owl:Ontology>
  <skos:Concept rdf:about="owl"><skos:prefLabel>owl</skos:prefLabel>
    <skos:note rdf:parseType="Literal"><xi:include href="{address}/include"/></skos:note></skos:Concept>
</rdf:RDF>
"""
EXTERNAL_TURTLE = """@prefix skos: <{address}/prefix#> . @base <{address}/> .
<owls> <http://www.w3.org/2002/07/owl#imports> <import> .
<owl> <http://www.w3.org/2004/02/skos/core#prefLabel> "owl" ; <http://www.w3.org/2004/02/skos/core#inScheme> <scheme> .
"""


@pytest.mark.parametrize("text", [EXTERNAL, EXTERNAL_TURTLE], ids=["RDF/XML", "Turtle"])
def test_nothing_is_fetched(text: str) -> None:
    with live_site(lambda path: (200, {}, b"")) as (address, requested):
        net = parse_thesaurus(text.replace("{address}", address), f"{address}/owls.rdf")
    assert net.get_senses("owl")
    assert list(requested) == []


def time_parsing(text: str) -> float:
    """Return the CPU seconds of parsing a text that has no labels."""
    start = time.process_time()
    with pytest.raises(ValueError, match="no concept with a label"):
        parse_thesaurus(text, "f")
    return time.process_time() - start


def make_rdf_xml(content: str, declarations: str = "", prolog: str = "") -> str:
    return f'{prolog}<rdf:RDF {NAMESPACE} xmlns:s="http://s/" {declarations}>{content}</rdf:RDF>'


@pytest.mark.parametrize(
    "text",
    [
        make_rdf_xml("<s:a><s:p rdf:parseType='Literal'>" + "<b/>" * 20_000 + "</s:p></s:a>"),
        make_rdf_xml(
            "<s:a><s:p>" + "&a;" * 30_000 + "</s:p></s:a>", prolog=f"<!DOCTYPE r [<!ENTITY a '{'x' * 199}'>]>"
        ),
        make_rdf_xml("<s:a/>", declarations=" ".join(f'xmlns:p{n}="u{n}"' for n in range(20_000))),
        '<a> <b> "1e999999999"^^<http://www.w3.org/2001/XMLSchema#decimal> .',
        '<a> <b> "' + "9" * 300_000 + '"^^<http://www.w3.org/2001/XMLSchema#integer> .',
        '<a> <b> """' + '" ' * 100_000 + '""" .',
    ],
    ids=["XML literal", "many entities", "many namespaces", "large decimal", "large integer", "quotes"],
)
def test_hostile_files_take_little_time(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert time_parsing(text) < 5
    assert capfd.readouterr().err == "", "warnings of rdflib"


def test_settings_of_rdflib_are_restored() -> None:
    assert parse_error("<a> <b>")
    assert rdflib.NORMALIZE_LITERALS is True


@pytest.mark.parametrize("text", [RDF_XML, TURTLE, TRIPLES], ids=["RDF/XML", "Turtle", "N-Triples"])
def test_rdf_without_rdflib_is_a_usage_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdflib.parser", None)
    with pytest.raises(UsageError, match=r"pip install 'topicrawl\[rdf\]'") as caught:
        parse_thesaurus(text, "mesh.rdf")
    assert str(caught.value).startswith("mesh.rdf: ")
    assert "\n" not in str(caught.value)
    assert parse_thesaurus(TABLE, "f").get_senses("dengue fever")


def test_a_table_does_not_load_rdflib() -> None:
    code = """if True:
        import sys
        from topicrawl.text.thesaurus import parse_thesaurus
        parse_thesaurus("owl\\tis_a\\tbird", "f")
        sys.exit("rdflib" in sys.modules)
    """
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_long_cycle_is_abbreviated() -> None:
    text = "\n".join(f"t{n}\tis_a\tt{(n + 1) % 500}" for n in range(500))
    with pytest.raises(ValueError, match="…") as caught:
        parse_thesaurus(text, "f")
    assert len(str(caught.value)) < 150


def test_long_chain() -> None:
    net = parse_thesaurus("\n".join(f"t{n}\tis_a\tt{n + 1}" for n in range(3000)), "f")
    assert net.depth(one(net, "t0")) == 3001
    same = parse_thesaurus("\n".join(f"t{n}\tsame_as\tt{n + 1}" for n in range(3000)), "f")
    assert len(same) == 1


@given(st.text(alphabet=st.sampled_from('<>"a:;.,[]()@^#\\\t\n is_a part_of?!&'), max_size=60))
def test_any_text_is_parsed_or_rejected_with_one_line(text: str) -> None:
    for start in ("", "<?xml?>", "@prefix a: <b> . "):
        complaint = parse_error(start + text)
        assert complaint == "" or (complaint.startswith("f:") and "\n" not in complaint)


def parse_error(text: str) -> str:
    """Return the error message of parsing a text, or "" if it is valid."""
    try:
        return "" if len(parse_thesaurus(text, "f")) else "an empty one"
    except ValueError as error:
        return str(error)
