"""All strategies on the recorded webs in $TOPICRAWL_WEBS (default ../shared/webs), with a report in out/harvest.

What was run before is not run again, so the command may be stopped and started. Options go to `topicrawl lab compare`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
WEBS = Path(os.environ.get("TOPICRAWL_WEBS", ROOT.parent / "shared" / "webs"))


def main() -> None:
    found = sorted(path.parent for path in WEBS.glob("*/tasks.json"))
    if not found:
        sys.exit(
            f"no recorded webs in {WEBS}: a web is a directory with pages.warc.gz, labels.tsv and tasks.json; "
            "name the directory that holds them with TOPICRAWL_WEBS=…"
        )
    print(f"comparing on {', '.join(path.name for path in found)}; this takes an hour or more the first time")
    command = [
        sys.executable,
        "-m",
        "topicrawl",
        "lab",
        "compare",
        *map(str, found),
        "--out",
        str(ROOT / "out/harvest"),
    ]
    sys.exit(subprocess.run([*command, *sys.argv[1:]], check=False).returncode)


if __name__ == "__main__":
    main()
