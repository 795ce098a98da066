"""Fuzz all parsers of untrusted input for a given number of seconds.

    python tools/fuzz.py 60                      every target, 60 seconds in all
    python tools/fuzz.py 300 html documents      two targets, 300 seconds in all
    python tools/fuzz.py --replay out/fuzz/html-1a2b3c4d.bin

The fuzzer mutates the inputs of a small corpus (`fuzz_corpus.py`) at random with a fixed seed: the same command
generates the same inputs in the same order. An input with a new outcome is added to the corpus. Each target runs in a
separate process, so that a crash of the interpreter is also a finding. A finding is an unexpected exception, a violated
invariant, more than ten seconds of CPU time for one input, or the exit of the process. Its input is saved in out/fuzz.
The exit code is 1 if there are findings.
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

from fuzz_targets import TARGETS, Target, exit_worker

FOLDER = Path("out") / "fuzz"
SLOW = 10.0  # CPU seconds for one input of at most LARGEST bytes
LARGEST = 1 << 16
MEMORY = 4 << 30
_KEPT = 400  # maximum number of inputs in the corpus of a target
_NUMBERS = (b"0", b"-1", b"1e999", b"NaN", b"999999999999999999999", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff")
_TEXTS = (b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80\xae", b"\0", b"\r\n\r\n", b"%00", b"\x1b[")


class Finding(NamedTuple):
    """An input and the problem that it causes."""

    body: bytes
    what: str


@dataclass
class Tally:
    """Statistics and findings of one target."""

    name: str
    inputs: int = 0
    seconds: float = 0.0
    computing: float = 0.0  # CPU seconds
    slowest: float = 0.0
    outcomes: int = 0
    findings: list[Finding] = field(default_factory=list)


def mutate(body: bytes, others: Sequence[bytes], words: Sequence[bytes], random: Random) -> bytes:
    """Return a mutation of an input with one to six changes."""
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


def run_worker(target: Target, seconds: float, seed: int, line: Connection) -> None:
    """Try inputs in a separate process until the time is over. Each input is sent to the parent before it is tried."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    faulthandler.disable()
    random = Random(f"{seed} {target.name}")
    run, corpus = target.open_run(), list(target.corpus)
    outcomes: set[object] = set()
    until = time.monotonic() + seconds
    number = 0
    while time.monotonic() < until:
        # The unmodified corpus comes first; it must cause no finding.
        body = (
            corpus[number]
            if number < len(target.corpus)
            else mutate(random.choice(corpus), corpus, target.words, random)
        )
        number += 1
        line.send(body)
        started = time.process_time()
        what, outcome = try_input(run, body)
        cpu_seconds = time.process_time() - started
        if not what and cpu_seconds > SLOW:
            what = f"took {cpu_seconds:.1f} s of CPU time"
        line.send((what, cpu_seconds, len(outcomes)))
        if outcome is not None and outcome not in outcomes:
            outcomes.add(outcome)
            if len(corpus) < _KEPT:
                corpus.append(body)
    line.send(None)
    exit_worker()


def try_input(run: Callable[[bytes], object], body: bytes) -> tuple[str, object]:
    """Run a target on an input. Return the traceback of an error or "", and the outcome."""
    try:
        return "", run(body)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001  any exception is a finding
        return traceback.format_exc(), None


def fuzz_target(target: Target, seconds: float, seed: int) -> Tally:
    """Fuzz one target for a number of seconds. A process that exits is replaced, with the next seed."""
    tally = Tally(target.name)
    started = time.monotonic()
    context = multiprocessing.get_context("fork")
    while (remaining := seconds - (time.monotonic() - started)) > 0 and len(tally.findings) < 20:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=run_worker, args=(target, remaining, seed + len(tally.findings), theirs))
        process.start()
        theirs.close()
        _read_results(ours, process, tally)
        process.join()
    tally.seconds = time.monotonic() - started
    return tally


def _read_results(line: Connection, process: multiprocessing.process.BaseProcess, tally: Tally) -> None:
    """Read the results of a worker process until it finishes or exits."""
    seen_errors = {finding.what.splitlines()[-1] for finding in tally.findings}
    body = b""
    while True:
        try:
            body = line.recv()
            if body is None:
                return
            what, cpu_seconds, outcomes = line.recv()
        except EOFError:
            process.join()
            tally.findings.append(Finding(body, f"the process exited with code {process.exitcode}"))
            return
        tally.inputs += 1
        tally.computing += cpu_seconds
        tally.slowest = max(tally.slowest, cpu_seconds)
        tally.outcomes = max(tally.outcomes, outcomes)
        if what and what.splitlines()[-1] not in seen_errors:
            seen_errors.add(what.splitlines()[-1])
            tally.findings.append(Finding(body, what))


def save_findings(tally: Tally) -> None:
    """Save the inputs and tracebacks of the findings, and print their paths."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for body, what in tally.findings:
        path = FOLDER / f"{tally.name}-{sha1(body, usedforsecurity=False).hexdigest()[:8]}.bin"
        path.write_bytes(body)
        path.with_suffix(".txt").write_text(what, "utf-8", "replace")
        print(f"  {path}: {what.splitlines()[-1][:200]}")


def replay_input(path: Path) -> int:
    """Try a saved input again. Return 1 if it still causes a finding, else 0."""
    target = TARGETS[path.name.rpartition("-")[0]]
    what, outcome = try_input(target.open_run(), path.read_bytes())
    print(what or f"the input causes no finding any more: {outcome}")
    return bool(what)


def main() -> int:
    """Fuzz the targets named on the command line, or all, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=float, nargs="?", default=60.0, help="total time for all targets")
    parser.add_argument("targets", nargs="*", help=f"targets to run: {', '.join(TARGETS)}; default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", type=Path, metavar="FILE", help="try one saved input again")
    options = parser.parse_args()
    if options.replay:
        return replay_input(options.replay)
    unknown = [name for name in options.targets if name not in TARGETS]
    if unknown:
        parser.error(f"there is no target {unknown[0]!r}; targets are {', '.join(TARGETS)}")
    chosen = [TARGETS[name] for name in options.targets or TARGETS]
    print("target        inputs  seconds  computing  outcomes  slowest  findings", flush=True)
    finding_count = 0
    for target in chosen:
        tally = fuzz_target(target, options.seconds / len(chosen), options.seed)
        print(
            f"{tally.name:<12} {tally.inputs:>7} {tally.seconds:>8.0f} {tally.computing:>10.1f} {tally.outcomes:>9} "
            f"{tally.slowest:>7.2f}s {len(tally.findings):>9}",
            flush=True,
        )
        save_findings(tally)
        finding_count += len(tally.findings)
    return min(finding_count, 1)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # exits without waiting for threads of the libraries
