"""Throws broken input at everything that reads what strangers wrote, for a given number of seconds.

    python tools/fuzz.py 60                      every target, 60 seconds in all
    python tools/fuzz.py 300 html documents      two targets, 300 seconds in all
    python tools/fuzz.py --replay out/fuzz/html-1a2b3c4d.bin

Inputs are made by changing those of a small corpus (`fuzz_targets.py`) at random, from a fixed seed: the same command
makes the same inputs in the same order. An input with an outcome that was not seen before joins the corpus. A target
runs in a process of its own, so that a crash of the interpreter is a finding like any other. A finding is an
exception that has no business there, a law that does not hold, more than ten seconds of computing for one input, or
the end of the process; its input is saved in out/fuzz. Exit code 1: something was found.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import NamedTuple

from fuzz_targets import TARGETS, Target, ended

FOLDER = Path("out") / "fuzz"
SLOW = 10.0  # seconds of computing for one input of at most LARGEST bytes
LARGEST = 1 << 16
MEMORY = 4 << 30
_KEPT = 400  # inputs of a target's corpus at the most
_NUMBERS = (b"0", b"-1", b"1e999", b"NaN", b"999999999999999999999", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff")
_TEXTS = (b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80\xae", b"\0", b"\r\n\r\n", b"%00", b"\x1b[")


class Finding(NamedTuple):
    """An input that did what no input may do."""

    body: bytes
    what: str


@dataclass
class Tally:
    """What became of one target."""

    name: str
    inputs: int = 0
    seconds: float = 0.0
    computing: float = 0.0  # seconds
    slowest: float = 0.0
    outcomes: int = 0
    findings: list[Finding] = field(default_factory=list)


def changed(body: bytes, others: Sequence[bytes], words: Sequence[bytes], random: Random) -> bytes:
    """An input that differs from another in one to six places."""
    data = bytearray(body)
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        at = random.randrange(len(data) + 1)
        end = min(len(data), at + random.choice((1, 2, 4, 16, 64, 1024)))
        kind = random.randrange(9)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << random.randrange(8)
        elif kind == 1 and data:
            data[at % len(data)] = random.randrange(256)
        elif kind == 2:
            del data[at:end]
        elif kind == 3:
            data[at:at] = data[at:end] * random.choice((1, 2, 50))
        elif kind == 4:
            data[at:end] = random.choice((*_NUMBERS, *_TEXTS))
        elif kind == 5 and words:
            data[at:at] = random.choice(words) * random.choice((1, 1, 1, 20))
        elif kind == 6:
            other = random.choice(others)
            start = random.randrange(len(other) + 1)
            data[at:end] = other[start : start + random.choice((8, 64, 512, 4096))]
        elif kind == 7:
            data[at:at] = random.randbytes(random.choice((1, 3, 17)))
        else:
            del data[at:]
    return bytes(data[:LARGEST])


def worked(target: Target, seconds: float, seed: int, line: Connection) -> None:
    """In a process of its own: run inputs until the time is over; each one is announced before it is tried."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    faulthandler.disable()
    random = Random(f"{seed} {target.name}")
    run, corpus = target.opened(), list(target.corpus)
    seen: set[object] = set()
    until = time.monotonic() + seconds
    number = 0
    while time.monotonic() < until:
        # The corpus itself comes first: it must be fine.
        body = corpus[number] if number < len(target.corpus) else changed(
            random.choice(corpus), corpus, target.words, random
        )  # fmt: skip
        number += 1
        line.send(body)
        begun = time.process_time()
        what, outcome = tried(run, body)
        used = time.process_time() - begun
        if not what and used > SLOW:
            what = f"took {used:.1f} s of computing"
        line.send((what, used, len(seen)))
        if outcome is not None and outcome not in seen:
            seen.add(outcome)
            if len(corpus) < _KEPT:
                corpus.append(body)
    line.send(None)
    ended()


def tried(run: Callable[[bytes], object], body: bytes) -> tuple[str, object]:
    """What went wrong with an input ("": nothing), and what came out of it."""
    try:
        return "", run(body)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001  whatever it is, it is the finding
        return traceback.format_exc(), None


def fuzzed(target: Target, seconds: float, seed: int) -> Tally:
    """One target for so long; a process that dies is replaced, with the next seed."""
    tally = Tally(target.name)
    begun = time.monotonic()
    context = multiprocessing.get_context("fork")
    while (left := seconds - (time.monotonic() - begun)) > 0 and len(tally.findings) < 20:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=worked, args=(target, left, seed + len(tally.findings), theirs))
        process.start()
        theirs.close()
        _followed(ours, process, tally)
        process.join()
    tally.seconds = time.monotonic() - begun
    return tally


def _followed(line: Connection, process: multiprocessing.process.BaseProcess, tally: Tally) -> None:
    """Take in what a process tells, until it has done its time or is gone."""
    known = {finding.what.splitlines()[-1] for finding in tally.findings}
    body = b""
    while True:
        try:
            body = line.recv()
            if body is None:
                return
            what, used, outcomes = line.recv()
        except EOFError:
            process.join()
            tally.findings.append(Finding(body, f"the process ended with code {process.exitcode}"))
            return
        tally.inputs += 1
        tally.computing += used
        tally.slowest = max(tally.slowest, used)
        tally.outcomes = max(tally.outcomes, outcomes)
        if what and what.splitlines()[-1] not in known:
            known.add(what.splitlines()[-1])
            tally.findings.append(Finding(body, what))


def saved(tally: Tally) -> None:
    """Keep what was found, and say where."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for body, what in tally.findings:
        path = FOLDER / f"{tally.name}-{sha1(body, usedforsecurity=False).hexdigest()[:8]}.bin"
        path.write_bytes(body)
        path.with_suffix(".txt").write_text(what, "utf-8", "replace")
        print(f"  {path}: {what.splitlines()[-1][:200]}")


def replayed(path: Path) -> int:
    target = TARGETS[path.name.rpartition("-")[0]]
    what, outcome = tried(target.opened(), path.read_bytes())
    print(what or f"nothing is wrong with it any more: {outcome}")
    return bool(what)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=float, nargs="?", default=60.0, help="in all")
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; all when none is named")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", type=Path, metavar="FILE", help="try one saved input again")
    options = parser.parse_args()
    if options.replay:
        return replayed(options.replay)
    unknown = [name for name in options.targets if name not in TARGETS]
    if unknown:
        parser.error(f"there is no target {unknown[0]!r}; there are {', '.join(TARGETS)}")
    chosen = [TARGETS[name] for name in options.targets or TARGETS]
    print("target        inputs  seconds  computing  outcomes  slowest  findings", flush=True)
    found = 0
    for target in chosen:
        tally = fuzzed(target, options.seconds / len(chosen), options.seed)
        print(
            f"{tally.name:<12} {tally.inputs:>7} {tally.seconds:>8.0f} {tally.computing:>10.1f} {tally.outcomes:>9} "
            f"{tally.slowest:>7.2f}s {len(tally.findings):>9}",
            flush=True,
        )
        saved(tally)
        found += len(tally.findings)
    return min(found, 1)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # threads of a target's libraries are not waited for
