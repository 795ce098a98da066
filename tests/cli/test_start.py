"""Start of the command."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Runs a command that loads numpy, and prints the number of threads of the process.
PROGRAM = """
import os, sys
from topicrawl.cli import main
sys.argv = ["topicrawl", "strategies"]
try:
    main()
except SystemExit:
    pass
import numpy
print(len(os.listdir("/proc/self/task")), file=sys.stderr)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="the system has no /proc")
@pytest.mark.parametrize("chosen", [None, "2"])
def test_numpy_starts_threads_only_if_the_user_chooses_them(chosen: str | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    if chosen is not None:
        environment["OPENBLAS_NUM_THREADS"] = chosen
    ran = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    assert int(ran.stderr) == min(int(chosen or 1), len(os.sched_getaffinity(0)))
