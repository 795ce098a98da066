"""The libraries that the package says it needs: here, recent enough, and loadable."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from typing import NamedTuple

from topicrawl.doctor.finding import Area, Finding

AREA = Area("installation")

#: What each extra is for. Those of the project's own work are not the user's.
EXTRAS = {
    "fast": "an event loop that is a little faster",
    "parquet": "`topicrawl export --to parquet`",
    "web": "`topicrawl serve`",
    "search": "several search engines without a key, for `topicrawl seeds`",
    "cluster": "a crawl on several machines (`--frontier redis://…`)",
    "store": "what workers fetch in an object store (`--store s3://…`)",
    "ray": "workers that Ray starts on its machines: `topicrawl cluster`",
}
_WORD = r"[A-Za-z0-9._-]+"
_REQUIREMENT = re.compile(rf"({_WORD})(?:\[[^\]]*\])?\s*\(?([^;)]*)\)?(?:;.*extra\s*==\s*['\"]({_WORD})['\"].*)?")
_LEAST = re.compile(r">=\s*([\d.]+)")
#: Libraries that are imported by another name than they are installed by.
_MODULES = {"PyStemmer": "Stemmer", "fasttext-predict": "fasttext"}


class Need(NamedTuple):
    """One requirement of the package."""

    name: str
    least: str  # version
    extra: str  # "": always needed


def needs(requirements: Sequence[str]) -> list[Need]:
    """Requirements as the package's metadata tells them.

    >>> needs(["aiohttp>=3.12", "redis[hiredis]>=5.2; extra == 'cluster'"])
    [Need(name='aiohttp', least='3.12', extra=''), Need(name='redis', least='5.2', extra='cluster')]
    """
    found = [it for text in requirements if (it := _REQUIREMENT.fullmatch(text.strip()))]
    return [Need(it[1], least[1] if (least := _LEAST.search(it[2])) else "", it[3] or "") for it in found]


def installed(name: str) -> str | None:
    """The version of a library; None: it is not there."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def broken(name: str) -> str:
    """Why a library cannot be loaded; "": it can."""
    try:
        importlib.import_module(_MODULES.get(name, name.lower().replace("-", "_")))
    except (ImportError, OSError, SystemError, AttributeError) as error:
        return str(error) or type(error).__name__
    return ""


def libraries(
    requirements: Sequence[str] | None = None,
    version: Callable[[str], str | None] = installed,
    trouble: Callable[[str], str] = broken,
) -> Iterator[Finding]:
    """Each library that is missing, too old or broken; in one line all that are right."""
    if requirements is None:
        try:
            requirements = metadata.requires("topicrawl") or []
        except metadata.PackageNotFoundError:
            fix = "install it: pip install ."
            yield AREA.warning("libraries", "this package was not installed, so what it needs is not known", fix)
            return
    wanted = needs(requirements)
    right = []
    for need in wanted:
        if not need.extra and (wrong := _wrong(need, version(need.name), trouble)):
            yield AREA.problem(need.name, wrong, f"pip install --upgrade --force-reinstall '{_spec(need)}'")
        elif not need.extra:
            right.append(f"{need.name} {version(need.name)}")
    if right:
        yield AREA.ok("libraries", f"{len(right)} of them: {', '.join(right)}")
    for extra, purpose in EXTRAS.items():
        yield from _extra(extra, purpose, [need for need in wanted if need.extra == extra], (version, trouble))


def _extra(
    extra: str,
    purpose: str,
    wanted: Sequence[Need],
    asked: tuple[Callable[[str], str | None], Callable[[str], str]],
) -> Iterator[Finding]:
    version, trouble = asked
    name, fix = f"extra {extra}", f"pip install 'topicrawl[{extra}]'"
    missing = [need.name for need in wanted if version(need.name) is None]
    wrong = [f"{need.name} {text}" for need in wanted if (text := _wrong(need, version(need.name), trouble))]
    if missing:
        yield AREA.note(name, f"not installed ({', '.join(missing)}); it is for {purpose}", fix)
    elif wrong:
        yield AREA.warning(
            name, f"{'; '.join(wrong)}; it is for {purpose}", f"pip install --upgrade 'topicrawl[{extra}]'"
        )
    elif wanted:
        yield AREA.ok(name, ", ".join(f"{need.name} {version(need.name)}" for need in wanted))


def _wrong(need: Need, version: str | None, trouble: Callable[[str], str]) -> str:
    if version is None:
        return "is not installed"
    if need.least and _numbers(version) < _numbers(need.least):
        return f"is too old: {version}, at least {need.least} is needed"
    reason = trouble(need.name)
    return f"cannot be loaded: {reason.splitlines()[0]}" if reason else ""


def _numbers(version: str) -> tuple[int, ...]:
    """A version for comparing.

    >>> _numbers("3.12.1") > _numbers("3.9"), _numbers("2.0rc1") >= _numbers("2.0")
    (True, True)
    """
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0])[:4])


def _spec(need: Need) -> str:
    return f"{need.name}>={need.least}" if need.least else need.name
