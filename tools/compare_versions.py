"""Compare the behaviour and the speed of this tree with another commit.

    python tools/compare_versions.py COMMIT               behaviour, then speed
    python tools/compare_versions.py COMMIT --no-speed    behaviour only
    python tools/compare_versions.py COMMIT --ignore relevance    leave a field of JSON output out of the comparison

Behaviour: both versions run the same commands, and their output is compared line by line: the visits of every strategy
on a synthetic web (order, scores, relevance), the export, status, search and explanations of a stored collection, and
the files in tests/golden. Fields of JSON output that only this tree has are listed and not compared. Speed:
bench/speed.py and bench/page_cost.py run alternately in both trees; the medians and their ratio are printed. The exit
code is 1 if any output differs.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COLLECTION = ROOT / "tests" / "fixtures" / "collection-0.1.tar.xz"
FETCHES = 120
SHOWN_LINES = 12
# A column of bench/page_cost.py: the median CPU milliseconds of a page, all steps together.
_COST_ROW = re.compile(r"^(\w+) +(?:[\d.]+ +){5}[\d.]+ +([\d.]+) ", re.M)


@contextmanager
def checkout(commit: str, folder: Path) -> Iterator[Path]:
    """Check the commit out into a temporary worktree."""
    path = folder / "base"
    subprocess.run(["git", "-C", str(ROOT), "worktree", "add", "--quiet", "--detach", str(path), commit], check=True)
    try:
        yield path
    finally:
        subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(path)], check=True)


def run(tree: Path, *words: str, cwd: Path) -> str:
    """Run Python with the package of a tree and return its standard output; a failure is part of the output."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONHASHSEED": "0", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else f"{done.stdout}exit code {done.returncode}\n{done.stderr[-2000:]}"


def run_command(tree: Path, *words: str, cwd: Path) -> str:
    """Run a `topicrawl` command with the package of a tree."""
    return run(tree, "-m", "topicrawl", *words, cwd=cwd)


def probe_strategies(tree: Path, folder: Path) -> dict[str, str]:
    """Return the visits of every strategy on a synthetic web, as JSON lines."""
    run_command(tree, "lab", "web", "web", "--pages", "1200", "--hosts", "40", cwd=folder)
    labels = [line.split("\t") for line in (folder / "web" / "labels.tsv").read_text("utf-8").splitlines()]
    task = json.loads((folder / "web" / "tasks.json").read_text("utf-8"))[0]
    relevant = [url for url, topics in labels if task["topic"] in topics.split(";")][::5][:20]
    irrelevant = [url for url, topics in labels if topics and task["topic"] not in topics.split(";")][::9][:20]
    rows = [f"{url}\trelevant\n" for url in relevant] + [f"{url}\tirrelevant\n" for url in irrelevant]
    (folder / "examples.tsv").write_text("".join(rows), "utf-8")
    seeds = [word for url in task["seeds"] for word in ("--seed", url)]
    names = [row["name"] for row in json.loads(run_command(tree, "strategies", "--json", cwd=folder))]
    options = ("--words", task["words"], "--examples", "examples.tsv", "--pages", str(FETCHES), *seeds)
    return {
        f"visits of {name}": run_command(tree, "lab", "run", "web", "--strategy", name, *options, cwd=folder)
        for name in names
    }


def probe_collection(tree: Path, folder: Path) -> dict[str, str]:
    """Return what the commands print and export for a stored collection."""
    with tarfile.open(COLLECTION) as archive:
        archive.extractall(folder, filter="data")
    run_command(tree, "export", "crawl", "--to", "jsonl", "--all", "--out", "pages.jsonl", cwd=folder)
    exported = (folder / "pages.jsonl").read_text("utf-8")
    url = json.loads(exported.splitlines()[0])["url"]
    return {
        "export": exported,
        "status": run_command(tree, "status", "crawl", "--json", cwd=folder),
        "why": run_command(tree, "why", "crawl", url, "--json", cwd=folder),
        "search": re.sub(
            r'"seconds": [\d.e-]+', "", run_command(tree, "search", "fever", "crawl", "--json", cwd=folder)
        ),
    }


def probe_files(tree: Path) -> dict[str, str]:
    """Return the golden files of a tree."""
    return {path.name: path.read_text("utf-8") for path in sorted((tree / "tests" / "golden").iterdir())}


def load_rows(text: str) -> list[dict[str, object]]:
    """Return the objects of JSON lines or of one JSON document; an empty list for other text."""
    for lines in (text.splitlines(), [text]):
        try:
            rows = [json.loads(line) for line in lines]
        except json.JSONDecodeError:
            continue
        return rows if all(isinstance(row, dict) for row in rows) else []
    return []


def select_common_fields(before: str, after: str, ignored: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the lines of the old and the new output to compare, and the fields that only the new output has."""
    old_rows, new_rows = load_rows(before), load_rows(after)
    if not old_rows or not new_rows:
        return before.splitlines(), after.splitlines(), []
    known = {key for row in old_rows for key in row}
    compared = known.difference(ignored)
    old_lines, new_lines = (
        [
            f"{key}: {json.dumps(row[key], ensure_ascii=False)}"
            for row in rows
            for key in sorted(compared.intersection(row))
        ]
        for rows in (old_rows, new_rows)
    )
    return old_lines, new_lines, sorted({key for row in new_rows for key in row} - known)


def compare_behaviour(base: Path, folder: Path, ignored: Sequence[str]) -> int:
    """Print one line per probe and the first differing lines; return the number of differing probes."""
    outputs = []
    for name, tree in (("old", base), ("new", ROOT)):
        place = folder / name
        place.mkdir()
        print(f"running the {name} version", flush=True)
        outputs.append({**probe_files(tree), **probe_collection(tree, place), **probe_strategies(tree, place)})
    old, new = outputs
    differing = 0
    for name in dict.fromkeys((*old, *new)):
        before, after, added = select_common_fields(old.get(name, ""), new.get(name, ""), ignored)
        same = before == after
        differing += not same
        fields = f"; new fields: {', '.join(added)}" if added else ""
        print(f"{'same     ' if same else 'DIFFERENT'}  {name} ({len(after)} lines{fields})")
        if not same:
            lines = difflib.unified_diff(before, after, "old", "new", lineterm="", n=0)
            print("\n".join(f"    {line[:200]}" for line in list(lines)[:SHOWN_LINES]))
    return differing


def measure_speed(tree: Path, folder: Path, judge: Sequence[str]) -> dict[str, float]:
    """Return pages per CPU-second of one round of bench/speed.py and bench/page_cost.py."""
    found: dict[str, float] = {}
    for strategy in ("best_first", "apprentice"):
        rows = folder / "speed.json"
        options = (
            "--only",
            "Topicrawl",
            "--rounds",
            "1",
            "--pages",
            "300",
            "--strategy",
            strategy,
            "--json",
            str(rows),
            *judge,
        )
        run(tree, str(tree / "bench" / "speed.py"), *options, cwd=tree)
        found[f"speed.py {strategy}"] = json.loads(rows.read_text("utf-8"))["runs"][0]["speed"]
        rows.unlink()
    options = ("--strategy", "best_first,apprentice", "--pages", "100", "--rounds", "1", "--webs", "4500", *judge)
    for strategy, cost in _COST_ROW.findall(run(tree, str(tree / "bench" / "page_cost.py"), *options, cwd=tree)):
        found[f"page_cost.py {strategy}"] = 1000 / float(cost)
    return found


def compare_speed(base: Path, folder: Path, rounds: int, judge: Sequence[str]) -> None:
    """Measure both trees alternately and print the medians and their ratio; `judge` has options for this tree."""
    rounds_of: dict[str, list[dict[str, float]]] = {"old": [], "new": []}
    for number in range(rounds):
        order = (("old", base), ("new", ROOT)) if number % 2 == 0 else (("new", ROOT), ("old", base))
        for name, tree in order:
            rounds_of[name].append(measure_speed(tree, folder, judge if name == "new" else ()))
        print(f"round {number + 1} of {rounds}", flush=True)
    print("\npages per CPU-second, median (all rounds)")
    for key in rounds_of["old"][0]:
        values = {name: [row[key] for row in rows] for name, rows in rounds_of.items()}
        old, new = (statistics.median(values[name]) for name in ("old", "new"))
        shown = "; ".join(f"{name} {' '.join(f'{value:.0f}' for value in row)}" for name, row in values.items())
        print(f"{key:<24} old {old:6.1f}  new {new:6.1f}  new/old {new / old:.3f}   ({shown})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("--judge", default="", help="judge of the speed benchmarks of this tree")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ignore", action="append", default=[], metavar="FIELD")
    parser.add_argument("--no-speed", action="store_true")
    parser.add_argument("--no-behaviour", action="store_true")
    options = parser.parse_args()
    differing = 0
    folder = Path(tempfile.mkdtemp(prefix="topicrawl-compare-"))
    try:
        with checkout(options.commit, folder) as base:
            if not options.no_behaviour:
                differing = compare_behaviour(base, folder, options.ignore)
                print(f"{differing} outputs differ" if differing else "all outputs are equal")
            if not options.no_speed:
                compare_speed(base, folder, options.rounds, ("--judge", options.judge) if options.judge else ())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
