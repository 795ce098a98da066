"""Word embeddings of the user: interface, specification and loading.

A specification is `built-in` (the vectors of the package), `none`, `model2vec:DIRECTORY[:languages=en+de]`, or a class
of the user as `module:Class[:parameter=value,…]`. This module does not import numpy, because `--help` does not need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from topicrawl import plugins
from topicrawl.errors import SettingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from topicrawl.text.embedded_vectors import GuardedEmbedding
    from topicrawl.text.term_vectors import VectorSource

BUILT_IN, NONE = "built-in", "none"
MODEL2VEC_PREFIX = "model2vec:"
MODEL2VEC_FILES = ("config.json", "tokenizer.json", "model.safetensors")
_LANGUAGES = ":languages="


@runtime_checkable
class Embedding(Protocol):
    """Word embedding: computes a vector for each word. Words with similar meanings have similar vectors.

    The vectors need not have length 1: Topicrawl centres and normalises them.
    """

    dimensions: int  # number of components of a vector
    languages: Sequence[str] | None  # ISO 639-1 codes of the languages of the embedding; None: all languages

    def embed_words(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each word, with `dimensions` columns. An unknown word has a row of zeros or NaN.

        The words are in lower case. The same word must always have the same vector.
        """


class Model2VecSpec(NamedTuple):
    """Directory of a model2vec model, and the languages to use it for."""

    directory: Path
    languages: tuple[str, ...] | None  # None: all languages


def parse_model2vec_spec(spec: str) -> Model2VecSpec:
    """Parse a specification `model2vec:DIRECTORY[:languages=en+de]`.

    >>> parse_model2vec_spec("model2vec:models/potion:languages=en+de")
    Model2VecSpec(directory=PosixPath('models/potion'), languages=('en', 'de'))
    """
    directory, has_languages, languages = spec.removeprefix(MODEL2VEC_PREFIX).partition(_LANGUAGES)
    if not directory:
        raise SettingError("embedding model2vec: needs a directory: write it as model2vec:DIRECTORY")
    if not has_languages:
        return Model2VecSpec(Path(directory), None)
    codes = tuple(languages.split("+"))
    if not all(code.isascii() and code.isalpha() and code.islower() for code in codes):
        raise SettingError(f"languages of the embedding must be codes such as en+de, not {languages!r}")
    return Model2VecSpec(Path(directory), codes)


def check_embedding(spec: str) -> None:
    """Raise `SettingError` if a specification is invalid, or if its directory or class does not exist.

    >>> check_embedding("word2vec")
    Traceback (most recent call last):
        ...
    topicrawl.errors.SettingError: unknown embedding 'word2vec': use built-in, none, model2vec:DIRECTORY or module:Class
    """
    if spec in (BUILT_IN, NONE):
        return
    if spec.startswith(MODEL2VEC_PREFIX):
        directory = parse_model2vec_spec(spec).directory
        if not directory.is_dir():
            raise SettingError(f"the embedding {directory} is not a directory on this machine")
        if missing := [name for name in MODEL2VEC_FILES if not (directory / name).is_file()]:
            raise SettingError(f"the embedding {directory} has no {missing[0]}: it is not a model2vec model")
    elif plugins.is_plugin_spec(spec):
        _load_embedding_class(spec)
    else:
        names = f"{BUILT_IN}, {NONE}, {MODEL2VEC_PREFIX}DIRECTORY or module:Class"
        raise SettingError(f"unknown embedding {spec!r}: use {names}")


def load_vector_source(spec: str) -> VectorSource:
    """Load the embedding of a specification. Raise `SettingError` if it is invalid or cannot be read."""
    from topicrawl.text.embedded_vectors import EmbeddingVectorSource, GuardedEmbedding
    from topicrawl.text.word_vectors import load_word_vectors

    check_embedding(spec)
    if spec == BUILT_IN:
        return load_word_vectors
    if spec == NONE:
        return lambda language: None
    if spec.startswith(MODEL2VEC_PREFIX):
        from topicrawl.text.model2vec import Model2VecEmbedding

        model = Model2VecEmbedding(*parse_model2vec_spec(spec))
        return EmbeddingVectorSource(GuardedEmbedding(model, spec)).get_vectors
    return EmbeddingVectorSource(_create_plugin(spec)).get_vectors


def _load_embedding_class(spec: str) -> tuple[type, dict[str, object]]:
    """Load the class of a specification and its parameters. Raise `SettingError` if it is not an embedding."""
    kind, text = plugins.load_class(spec, "embedding", SettingError)
    name = f"{kind.__module__}:{kind.__name__}"
    if not callable(getattr(kind, "embed_words", None)):
        raise SettingError(f"{name} is not an embedding: add the method embed_words")
    parameters = plugins.inspect_parameters(kind, skip=0)
    return kind, plugins.parse_parameters(text, parameters, name, SettingError)


def _create_plugin(spec: str) -> GuardedEmbedding:
    """Create the embedding of the user. Raise `SettingError` if its attributes are missing or invalid."""
    from topicrawl.text.embedded_vectors import GuardedEmbedding

    kind, values = _load_embedding_class(spec)
    name = f"{kind.__module__}:{kind.__name__}"
    with plugins.report_errors(name):
        embedding = kind(**values)
    dimensions, languages = (getattr(embedding, field, None) for field in ("dimensions", "languages"))
    if not isinstance(dimensions, int) or dimensions < 1:
        raise SettingError(f"{name} has no dimensions: give it the attribute `dimensions`, a number from 1 on")
    if languages is not None and (isinstance(languages, str) or not all(isinstance(code, str) for code in languages)):
        raise SettingError(f"{name} has the languages {languages!r}: give a list of codes such as ['en'], or None")
    return GuardedEmbedding(embedding, name)
