"""Checks of the required and optional libraries: installed, recent enough, and importable."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from typing import NamedTuple

from topicrawl.doctor.finding import CheckArea, Finding

AREA = CheckArea("installation")

#: Extra → its purpose. The extras for development are not listed.
EXTRAS = {
    "fast": "a faster event loop",
    "parquet": "`topicrawl export --to parquet`",
    "web": "`topicrawl serve`",
    "rdf": "thesauri in RDF/XML, Turtle and N-Triples",
    "search": "search engines that need no API key, for `topicrawl seeds`",
    "cluster": "crawls on several machines (`--frontier redis://…`)",
    "store": "pages of workers in an object store (`--store s3://…`)",
    "embedding": "word vectors of other models (`--embedding model2vec:…`)",
    "mcp": "`topicrawl mcp`",
    "ray": "workers on a Ray cluster (`topicrawl cluster ray`)",
}
_WORD = r"[A-Za-z0-9._-]+"
_REQUIREMENT = re.compile(rf"({_WORD})(?:\[[^\]]*\])?\s*\(?([^;)]*)\)?(?:;.*extra\s*==\s*['\"]({_WORD})['\"].*)?")
_MIN_VERSION = re.compile(r">=\s*([\d.]+)")
#: Import names of libraries that differ from their distribution names.
_IMPORT_NAMES = {"PyStemmer": "Stemmer", "fasttext-predict": "fasttext"}


class Requirement(NamedTuple):
    """Requirement of the package: a library, its minimum version, and the extra that needs it."""

    name: str
    min_version: str  # version; "": any
    extra: str  # "": always needed


def parse_requirements(requirements: Sequence[str]) -> list[Requirement]:
    """Parse the requirements of the package metadata.

    >>> [tuple(need) for need in parse_requirements(["aiohttp>=3.12", "redis[hiredis]>=5.2; extra == 'cluster'"])]
    [('aiohttp', '3.12', ''), ('redis', '5.2', 'cluster')]
    """
    parsed = []
    for text in requirements:
        if match := _REQUIREMENT.fullmatch(text.strip()):
            minimum = _MIN_VERSION.search(match[2])
            parsed.append(Requirement(match[1], minimum[1] if minimum else "", match[3] or ""))
    return parsed


def get_installed_version(name: str) -> str | None:
    """Return the version of an installed library, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def get_import_error(name: str) -> str:
    """Import a library and return the error message, or "" if the import succeeds."""
    try:
        importlib.import_module(_IMPORT_NAMES.get(name, name.lower().replace("-", "_")))
    except (ImportError, OSError, SystemError, AttributeError) as error:
        return str(error) or type(error).__name__
    return ""


def check_libraries(
    requirements: Sequence[str] | None = None,
    version: Callable[[str], str | None] = get_installed_version,
    trouble: Callable[[str], str] = get_import_error,
) -> Iterator[Finding]:
    """Report each library that is missing, too old or broken, and the others in one line.

    `version` returns the installed version of a library, `trouble` the error message of its import.
    """
    if requirements is None:
        try:
            requirements = metadata.requires("topicrawl") or []
        except metadata.PackageNotFoundError:
            fix = "install it: pip install ."
            yield AREA.warning("libraries", "the package is not installed, so its requirements are unknown", fix)
            return
    parsed = parse_requirements(requirements)
    intact = []
    for need in parsed:
        if not need.extra and (fault := _find_fault(need, version(need.name), trouble)):
            yield AREA.problem(
                need.name, fault, f"pip install --upgrade --force-reinstall '{_format_requirement(need)}'"
            )
        elif not need.extra:
            intact.append(f"{need.name} {version(need.name)}")
    if intact:
        yield AREA.ok("libraries", f"{len(intact)} installed: {', '.join(intact)}")
    for extra, purpose in EXTRAS.items():
        yield from _check_extra(extra, purpose, [need for need in parsed if need.extra == extra], (version, trouble))


def _check_extra(
    extra: str,
    purpose: str,
    requirements: Sequence[Requirement],
    probes: tuple[Callable[[str], str | None], Callable[[str], str]],
) -> Iterator[Finding]:
    """Check the libraries of an extra; `probes` are the functions `version` and `trouble` of `check_libraries`."""
    version, trouble = probes
    name, fix = f"extra {extra}", f"pip install 'topicrawl[{extra}]'"
    missing = [need.name for need in requirements if version(need.name) is None]
    faults = [
        f"{need.name} {text}" for need in requirements if (text := _find_fault(need, version(need.name), trouble))
    ]
    if missing:
        yield AREA.note(name, f"not installed ({', '.join(missing)}); needed for {purpose}", fix)
    elif faults:
        fix = f"pip install --upgrade 'topicrawl[{extra}]'"
        yield AREA.warning(name, f"{'; '.join(faults)}; needed for {purpose}", fix)
    elif requirements:
        yield AREA.ok(name, ", ".join(f"{need.name} {version(need.name)}" for need in requirements))


def _find_fault(need: Requirement, version: str | None, trouble: Callable[[str], str]) -> str:
    """Return the fault of a library, or "" if it meets the requirement."""
    if version is None:
        return "is not installed"
    if need.min_version and _parse_version(version) < _parse_version(need.min_version):
        return f"is too old: {version}, at least {need.min_version} is needed"
    reason = trouble(need.name)
    return f"cannot be imported: {reason.splitlines()[0]}" if reason else ""


def _parse_version(version: str) -> tuple[int, ...]:
    """Convert a version to a tuple that can be compared.

    >>> _parse_version("3.12.1") > _parse_version("3.9"), _parse_version("2.0rc1") >= _parse_version("2.0")
    (True, True)
    """
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0])[:4])


def _format_requirement(need: Requirement) -> str:
    return f"{need.name}>={need.min_version}" if need.min_version else need.name
