"""Duplicate detection: pages that repeat others, and pages that only look similar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

import pytest
import xxhash

from topicrawl.collection.deduplication import DuplicateDetector, DuplicateThresholds
from topicrawl.models import DuplicateMatch, Link, Page
from topicrawl.text.tokenizer import tokenise

SITE = "http://owls.example"
MENU = "\n".join(f"Menu entry number {number} of the site" for number in range(150))


class Memory:
    """In-memory index of stored pages."""

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self.marks: dict[int, int] = {}

    def find_steps(self, keys: Iterable[int]) -> dict[int, int]:
        return {mark: self.marks[mark] for mark in keys if mark in self.marks}

    def find_step_by_url(self, url: str) -> int | None:
        return next((step for step, page in enumerate(self.pages) if page.url == url), None)

    def load_page(self, step: int) -> Page | None:
        return self.pages[step]

    def add_keys(self, keys: Iterable[int], step: int) -> None:
        self.marks.update(dict.fromkeys(keys, step))


def page(path: str, text: str, *, links: Sequence[str] = (), canonical: str = "") -> Page:
    url = path if "://" in path else SITE + path
    return Page(
        url,
        text=text,
        words=tuple(tokenise(text)),
        digest=xxhash.xxh3_128_hexdigest(text.encode()) if text else "",
        links=tuple(Link(f"{url}/{number}", anchor=anchor) for number, anchor in enumerate(links)),
        canonical=canonical and SITE + canonical,
    )


def prose(seed: int, count: int = 300) -> list[str]:
    random = Random(seed)
    return ["".join(random.choices("abcdefghilmnoprstu", k=random.randint(2, 9))) for _ in range(count)]


def twins(*pages: Page, kept: bool = True, sameness: DuplicateThresholds | None = None) -> list[str]:
    """Return the path that each page repeats. With `kept`, each page is stored before the next one is checked."""
    memory = Memory()
    duplicates = DuplicateDetector(memory, sameness)
    found = []
    for each in pages:
        twin = duplicates.find_duplicate(each)
        found.append(twin.url.removeprefix(SITE) if twin else "")
        if kept and twin is None:
            duplicates.register_stored(each.url, len(memory.pages))
            memory.pages.append(each)
    return found


def with_word(text: list[str], at: int, word: str = "other") -> str:
    return " ".join([*text[:at], word, *text[at + 1 :]])


BOTH = pytest.mark.parametrize("kept", [True, False], ids=["stored before", "arrived together"])


@BOTH
def test_the_same_text_at_two_addresses_is_one_page(kept: bool) -> None:
    text = " ".join(prose(1))
    mirror = page("http://mirror.example/a", text)
    assert twins(page("/a", text), page("/b", text), mirror, page("/c", " ".join(prose(2))), kept=kept) == [
        "",
        "/a",
        "/a",
        "",
    ]


@BOTH
@pytest.mark.parametrize(("length", "same"), [(50, False), (100, True), (200, True)])
def test_kluev_one_word_changed_in_the_middle(length: int, same: bool, kept: bool) -> None:
    text = prose(length, length)
    found = twins(page("/a", " ".join(text)), page("/b", with_word(text, length // 2)), kept=kept)
    assert found == ["", "/a" if same else ""]


@pytest.mark.parametrize(("more", "same"), [(480, True), (520, False)])
def test_kluev_texts_whose_lengths_differ_by_more_than_500_characters_are_not_compared(more: int, same: bool) -> None:
    text = " ".join(prose(3, 2500))
    longer = f"{text} {'tail ' * (more // 5)}"
    assert twins(page("/a", text), page("/b", longer.strip())) == ["", "/a" if same else ""]


def test_pages_of_few_words_are_not_told_apart_by_them() -> None:
    assert twins(page("/a", "Picture of the day"), page("/b", "Picture of the day")) == ["", ""]
    assert twins(page("/a", ""), page("/b", "")) == ["", ""]


def test_a_menu_that_all_pages_of_a_site_share_makes_them_no_duplicates() -> None:
    entries = MENU.split("\n")
    found = twins(*(page(f"/{n}", f"{MENU}\n{' '.join(prose(n, 40))}", links=entries) for n in range(4)))
    assert found == ["", "", "", ""]


def test_nor_do_lists_of_links_with_the_same_rest() -> None:
    rest = " ".join(prose(5, 60))
    lists = [[f"Owl {' '.join(prose(100 * n + k, 4))}" for k in range(80)] for n in range(3)]
    found = twins(*(page(f"/{n}", "\n".join([rest, *entries]), links=entries) for n, entries in enumerate(lists)))
    assert found == ["", "", ""]


def test_the_same_page_with_its_menu_is_a_duplicate_of_it_with_another_menu() -> None:
    text = " ".join(prose(6, 900))
    entries = [f"Entry {number}" for number in range(40)]
    assert twins(page("/a", text), page("/b", "\n".join([*entries, text]), links=entries)) == ["", "/a"]


@BOTH
@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("/papers/owl.html", "/papers/owl.pdf", True),
        ("/papers/owl.ps.gz", "/papers/owl.html", True),
        ("/papers/owl.pdf", "/other/owl.html", False),
        ("/owl.html", "/owls.pdf", False),
        ("/v1.2", "/v1.3", False),
        ("/owl.php?id=1", "/owl.pdf?id=2", False),
    ],
)
def test_names_that_differ_only_in_their_suffix_need_half_of_the_shingles(
    first: str, second: str, same: bool, kept: bool
) -> None:
    text = prose(7, 400)
    converted = [f"{word} page{n}" if n % 30 == 0 else word for n, word in enumerate(text)]
    found = twins(page(first, " ".join(text)), page(second, " ".join(converted)), kept=kept)
    assert found == ["", first if same else ""]


def test_the_page_about_a_paper_is_not_the_paper() -> None:
    paper = prose(8, 3000)
    assert twins(page("/owl.html", " ".join(paper[:150])), page("/owl.pdf", " ".join(paper))) == ["", ""]


def test_kluev_took_the_names_word_for_it() -> None:
    pages = page("/owl.html", " ".join(prose(9))), page("/owl.pdf", " ".join(prose(10)))
    assert twins(*pages, sameness=DuplicateThresholds(related_resemblance=0.0)) == ["", "/owl.html"]


@BOTH
def test_a_page_that_names_its_canonical_form_repeats_it_whichever_comes_first(kept: bool) -> None:
    text = prose(11, 300)
    shorter = " ".join([*text[:220], *prose(12, 20)])
    plain, printed = page("/owl", " ".join(text)), page("/owl?print=1", shorter, canonical="/owl")
    assert twins(plain, printed, kept=kept) == ["", "/owl"]
    assert twins(printed, plain, kept=kept) == ["", "/owl?print=1"]


def test_a_canonical_address_that_all_pages_of_a_site_name_by_mistake_is_not_believed() -> None:
    pages = [page(f"/{n or ''}", " ".join(prose(20 + n)), canonical="/") for n in range(4)]
    assert twins(*pages) == ["", "", "", ""]


def test_a_page_that_is_read_again_does_not_repeat_itself() -> None:
    again = page("/a", " ".join(prose(13)))
    memory = Memory()
    duplicates = DuplicateDetector(memory)
    assert duplicates.find_duplicate(again) is None
    memory.pages.append(again)
    assert duplicates.register_stored(again.url, 0)
    assert duplicates.find_duplicate(again) is None


def test_what_a_mark_leads_to_may_be_lost() -> None:
    class Lost(Memory):
        def load_page(self, step: int) -> Page | None:
            return None

    memory = Lost()
    duplicates = DuplicateDetector(memory)
    text = " ".join(prose(14))
    assert duplicates.find_duplicate(page("/a", text)) is None
    assert duplicates.register_stored(f"{SITE}/a", 0)
    assert duplicates.find_duplicate(page("/b", text)) is None


def test_it_says_how_one_can_tell() -> None:
    memory = Memory()
    duplicates = DuplicateDetector(memory)
    text = prose(15, 400)
    assert duplicates.find_duplicate(page("/a", " ".join(text))) is None
    near = duplicates.find_duplicate(page("/b", with_word(text, 200)))
    assert near == DuplicateMatch(f"{SITE}/a", f"nearly the same text as {SITE}/a (98% of the shingles)")
