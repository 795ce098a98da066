"""Embeddings of the user: conformance, invalid input, and term vectors computed by them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.helpers.embeddings import DIMENSIONS, PLUGIN, SUBJECTS, make_vectors, write_model2vec, write_safetensors

from topicrawl.errors import PluginError, SettingError
from topicrawl.relevance.topic_meaning import TopicMeaning
from topicrawl.relevance.vsm import Vsm
from topicrawl.text import embedded_vectors
from topicrawl.text.bag_of_words import TermVocabulary
from topicrawl.text.embedded_vectors import EmbeddingVectorSource, GuardedEmbedding
from topicrawl.text.embedding import Embedding, check_embedding, load_vector_source
from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.word_vectors import WordVectors, load_word_vectors
from topicrawl.topic import Topic

pytest.importorskip("tokenizers", reason="tokenizers is not installed: make install")
from topicrawl.text.model2vec import Model2VecEmbedding

GERMAN_BIRDS = Topic("Vögel", {"vögel": 1.0}, languages=("de",))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_vectors.py").write_text(PLUGIN, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "made_vectors", raising=False)


def load_plugin() -> Embedding:
    from made_vectors import Vectors  # type: ignore[import-not-found]

    return Vectors()  # type: ignore[no-any-return]


EMBEDDINGS: dict[str, Callable[[], Embedding]] = {
    "plugin": load_plugin,
    "model2vec": lambda: Model2VecEmbedding(write_model2vec(Path("model"))),
    "quantised model2vec": lambda: Model2VecEmbedding(write_model2vec(Path("small"), quantised=True)),
    "guarded plugin": lambda: GuardedEmbedding(load_plugin(), "it"),
}


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_conformance(name: str) -> None:
    embedding = EMBEDDINGS[name]()
    assert isinstance(embedding, Embedding)
    words = ["owl", "qqqq", "time", "owl", ""]
    vectors = embedding.embed_words(words)
    assert (vectors.shape, vectors.dtype) == ((5, embedding.dimensions), np.float32)
    assert not np.nan_to_num(vectors[[1, 4]]).any(), "unknown words have no vector"
    assert vectors[[0, 2]].any(axis=1).all()
    assert np.array_equal(vectors[0], vectors[3])
    # The vector of a word does not depend on the other words.
    for word, vector in zip(words, vectors, strict=True):
        assert np.allclose(embedding.embed_words([word])[0], vector, atol=1e-6, equal_nan=True)
    assert embedding.embed_words([]).shape == (0, embedding.dimensions)


def test_vectors_of_a_model_are_the_means_of_its_tokens() -> None:
    vectors = {"rail": np.array([4.0, 0.0], np.float32), "##way": np.array([0.0, 2.0], np.float32)}
    model = Model2VecEmbedding(write_model2vec(Path("model"), vectors))
    assert model.embed_words(["railway", "rail"]).tolist() == [[2.0, 1.0], [4.0, 0.0]]
    # 4 and 2 are the weights; the vectors are rounded to bytes.
    small = Model2VecEmbedding(write_model2vec(Path("small"), vectors, quantised=True))
    assert small.embed_words(["railway"]).tolist() == [[2.0 * 127, 127.0]]


def damage_shape(model: Path) -> None:
    write_safetensors(model / "model.safetensors", {"embeddings": np.zeros(8, np.float32)})


def damage_type(model: Path) -> None:
    path = model / "model.safetensors"
    path.write_bytes(path.read_bytes().replace(b'"F32"', b'"B16"'))


def damage_count(model: Path) -> None:
    write_safetensors(model / "model.safetensors", {"embeddings": np.zeros((3, 8), np.float32)})


def damage_weights(model: Path) -> None:
    tensors = {"embeddings": np.zeros((5000, 8), np.float32), "weights": np.zeros(7)}
    write_safetensors(model / "model.safetensors", tensors)


def write_part(name: str, keep: int, text: bytes = b"") -> Callable[[Path], object]:
    return lambda model: (model / name).write_bytes((model / name).read_bytes()[:keep] + text)


BAD_MODELS: list[tuple[Callable[[Path], object], str]] = [
    (lambda model: (model / "config.json").unlink(), "has no config.json: it is not a model2vec model"),
    (lambda model: (model / "tokenizer.json").unlink(), "has no tokenizer.json"),
    (lambda model: (model / "model.safetensors").unlink(), "has no model.safetensors"),
    (write_part("config.json", 0, b"[]"), "config.json does not contain a JSON object"),
    (write_part("config.json", 9), "config.json cannot be read"),
    (write_part("tokenizer.json", 0, b'{"model": {}}'), "tokenizer.json is not a tokenizer"),
    (write_part("tokenizer.json", 0, b"{}"), "tokenizer.json is not a tokenizer"),
    (write_part("model.safetensors", 0), "is truncated or not a safetensors file"),
    (write_part("model.safetensors", 40), "is truncated or not a safetensors file"),
    (write_part("model.safetensors", 400), "is truncated: the data of embeddings is incomplete"),
    (write_part("model.safetensors", 0, b"\x02" + bytes(7) + b"[]"), "model.safetensors cannot be read"),
    (write_part("model.safetensors", 0, b"\x02" + bytes(7) + b"{}"), "has no tensor 'embeddings'"),
    (write_part("model.safetensors", 0, b"\x0b" + bytes(7) + b'{"x":[1,2]}'), "model.safetensors cannot be read"),
    (damage_shape, "embeddings has the shape [8]; n × n is required"),
    (damage_type, "embeddings has the type B16, which is not supported"),
    (damage_count, "has 3 vectors, but the tokenizer needs"),
    (damage_weights, "weights has the shape [7]"),
]


@pytest.mark.parametrize(("damage", "message"), BAD_MODELS)
def test_invalid_models_are_reported_in_one_line(damage: Callable[[Path], object], message: str) -> None:
    damage(write_model2vec(Path("model")))
    with pytest.raises(SettingError) as caught:
        load_vector_source("model2vec:model")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("glove", "unknown embedding 'glove'"),
        ("", "unknown embedding ''"),
        ("model2vec:", "needs a directory"),
        ("model2vec:nowhere", "nowhere is not a directory on this machine"),
        ("model2vec:model:languages=EN", "must be codes such as en.de, not 'EN'"),
        ("made_nowhere:Vectors", "cannot load the embedding made_nowhere:Vectors"),
        ("made_vectors:Silent", "is not an embedding: add the method embed_words"),
        ("made_vectors:Vectors:size=3", "has no parameter 'size'"),
    ],
)
def test_invalid_specifications_are_reported(spec: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        check_embedding(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("made_vectors:Unsized", "has no dimensions"),
        ("made_vectors:NotCreated", "made_vectors:NotCreated failed: TypeError: .*path"),
        ("made_vectors:NotCreated:path=/nowhere/x", "made_vectors:NotCreated failed: .*No such file"),
        ("made_vectors:Failing", "^made_vectors:Failing failed: RuntimeError: no GPU found \\(made_vectors.py, line "),
        ("made_vectors:Flat", r"made_vectors:Flat returned an array of the shape \(3,\) for 1024 words"),
    ],
)
def test_failures_of_a_plugin_name_the_plugin(spec: str, message: str) -> None:
    with pytest.raises((PluginError, SettingError), match=message):
        load_vector_source(spec)("en")


def test_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    write_model2vec(Path("model"))
    with pytest.raises(SettingError, match=r"pip install 'topicrawl\[embedding\]'"):
        load_vector_source("model2vec:model")


def get_trust(topic: Topic, spec: str) -> float:
    return TopicMeaning(Vsm(topic, vector_source=load_vector_source(spec))).trust


def test_topics_in_other_languages_have_vectors() -> None:
    write_model2vec(Path("model"))
    assert get_trust(GERMAN_BIRDS, "built-in") == get_trust(GERMAN_BIRDS, "none") == 0.0
    assert get_trust(Topic.of("birds"), "none") == 0.0
    for spec in ("model2vec:model", "made_vectors:Vectors:scale=7"):
        assert get_trust(GERMAN_BIRDS, spec) > 0.5
        assert get_trust(Topic.of("birds"), spec) > 0.5
        assert get_trust(Topic.of("xyzzyq"), spec) == 0.0
        meaning = TopicMeaning(Vsm(GERMAN_BIRDS, vector_source=load_vector_source(spec)))
        near, far, unknown = meaning.compute_affinities(["eul", "lokomotiv", "xyzzyq"])
        assert near > 0.5 > 0.2 > far
        assert unknown == 0.0


def test_languages_of_an_embedding_restrict_it() -> None:
    write_model2vec(Path("model"))
    for spec in ("model2vec:model:languages=en+fr", "made_vectors:Vectors:language=en"):
        source = load_vector_source(spec)
        assert source("en") is not None
        assert source("en") is source("en")
        assert source("de") is None
    # The model knows hardly any frequent word of these languages, or the package has no list of them.
    assert load_vector_source("model2vec:model")("ru") is None
    assert load_vector_source("model2vec:model")("xx") is None


class PackageVectors:
    """The vectors of the package as an embedding, with a constant added to each component."""

    dimensions, languages = 256, ("en",)

    def __init__(self, shift: float) -> None:
        self.shift = shift

    def embed_words(self, words: Sequence[str]) -> NDArray[np.float32]:
        vectors = load_word_vectors("en")
        assert vectors is not None
        rows = vectors.find_rows(load_lexicon("en").compute_terms(list(words)))
        result = np.zeros((len(words), self.dimensions), np.float32)
        result[rows >= 0] = vectors.get_vectors(rows[rows >= 0]) + np.float32(self.shift)
        return result


@pytest.mark.parametrize("shift", [0.0, 0.15])
def test_estimates_for_the_vectors_of_the_package_agree_with_its_constants(shift: float) -> None:
    source = EmbeddingVectorSource(GuardedEmbedding(PackageVectors(shift), "it")).get_vectors
    vectors = source("en")
    assert vectors is not None
    assert vectors.generic_cosine == pytest.approx(WordVectors.generic_cosine, abs=0.06)
    assert vectors.typical_similarity == pytest.approx(WordVectors.typical_similarity, abs=0.03)
    for phrase, least, most in (("birds", 0.9, 1.0), ("course home pages", 0.0, 0.1), ("xyzzyq", 0.0, 0.0)):
        assert least <= TopicMeaning(Vsm(Topic.of(phrase), vector_source=source)).trust <= most
    assert "railroad" in TopicMeaning(Vsm(Topic.of("railways"), vector_source=source)).find_similar_terms(5)


def test_full_cache_is_cleared_between_lookups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_vectors, "_MIN_CACHED_TERMS", 20)
    monkeypatch.setattr(embedded_vectors, "_MAX_CACHE_BYTES", 0)
    vectors = EmbeddingVectorSource(GuardedEmbedding(load_plugin(), "it")).get_vectors("en")
    fresh = EmbeddingVectorSource(GuardedEmbedding(load_plugin(), "it")).get_vectors("en")
    assert vectors is not None
    assert fresh is not None
    vocabulary = TermVocabulary(load_lexicon("en"))
    words = sorted(make_vectors())[:300]
    for start in range(0, 300, 15):
        ids = np.array(vocabulary.assign_term_ids([*words[start : start + 15], "owl", "qqqq"]), np.int32)
        rows = vectors.get_term_rows(vocabulary, ids)
        assert rows[-1] == -1
        expected = fresh.get_vectors(fresh.find_rows(vocabulary.get_terms(ids[:-1].tolist())))
        assert np.array_equal(vectors.get_vectors(rows[:-1]), expected)
        assert len(vectors._rows) <= 20 + len(ids)


def test_languages_share_the_limit_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_vectors, "_MIN_CACHED_TERMS", 20)
    monkeypatch.setattr(embedded_vectors, "_MAX_CACHE_BYTES", 0)
    source = EmbeddingVectorSource(GuardedEmbedding(load_plugin(), "it"))
    english, german = source.get_vectors("en"), source.get_vectors("de")
    assert english is not None
    assert german is not None
    words = sorted(make_vectors())
    for start in range(0, 300, 15):
        for vectors in (english, german):
            rows = vectors.find_rows([*words[start : start + 15], "owl"])
            assert vectors.get_vectors(rows).shape == (16, DIMENSIONS)
        assert len(english._rows) + len(german._rows) <= 20 + 2 * 16


def test_subjects_have_similar_terms() -> None:
    vectors = EmbeddingVectorSource(GuardedEmbedding(load_plugin(), "it")).get_vectors("en")
    assert vectors is not None
    assert vectors.dimensions == DIMENSIONS
    owl = vectors.get_vectors(vectors.find_rows(["owl"]))[0]
    stems = set(load_lexicon("en").compute_terms(list(SUBJECTS["birds"])))
    assert stems & set(vectors.find_nearest(owl, 3))
    assert json.dumps(vectors.find_nearest(owl, 3)) == json.dumps(vectors.find_nearest(owl, 3))
