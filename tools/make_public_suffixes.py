"""Build the list of public suffixes src/topicrawl/text/data/public_suffixes.txt.z.

    pip download --no-deps --only-binary :all: publicsuffixlist==1.1.2.20261023
    python tools/make_public_suffixes.py publicsuffixlist-*.whl

The file contains the rules of the Public Suffix List (see NOTICE), of its ICANN and its private section, one per line
in the ASCII form of host names, without comments. Lines are sorted and the file is compressed with zlib. The script
prints the version of the list and the SHA-256 digests of its input and output.
"""

from __future__ import annotations

import sys
import zlib
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

TARGET = Path(__file__).parent.parent / "src" / "topicrawl" / "text" / "data" / "public_suffixes.txt.z"
MEMBER = "publicsuffixlist/public_suffix_list.dat"


def encode_rule(rule: str) -> str:
    """Return a rule in the ASCII form of host names, with its marks.

    >>> encode_rule("*.ck"), encode_rule("!www.ck"), encode_rule("公司.cn")
    ('*.ck', '!www.ck', 'xn--55qx5d.cn')
    """
    mark = "!" if rule.startswith("!") else ""
    labels = rule.removeprefix("!").split(".")
    return mark + ".".join(label if label == "*" else label.encode("idna").decode() for label in labels)


def parse_rules(text: str) -> list[str]:
    """Return the rules of a Public Suffix List, sorted."""
    lines = (line.split()[0] for line in text.splitlines() if line.strip() and not line.startswith("//"))
    return sorted({encode_rule(line.lower()) for line in lines}, key=lambda rule: rule.split(".")[::-1])


def main() -> None:
    """Read the wheel named on the command line and write the file."""
    wheel = Path(sys.argv[1])
    with ZipFile(wheel) as archive:
        text = archive.read(MEMBER).decode()
    rules = parse_rules(text)
    data = zlib.compress("\n".join(rules).encode(), 9)
    TARGET.write_bytes(data)
    version = next(line for line in text.splitlines() if line.startswith("// VERSION:"))
    print(version.removeprefix("// "), f"{len(rules)} rules, {len(data)} bytes")
    print(sha256(wheel.read_bytes()).hexdigest(), wheel.name)
    print(sha256(data).hexdigest(), TARGET.name)


if __name__ == "__main__":
    main()
