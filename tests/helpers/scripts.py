"""Import the scripts of tools/ and bench/ as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def load_script(name: str, folder: str = "tools") -> ModuleType:
    """Import the script FOLDER/NAME.py."""
    spec = importlib.util.spec_from_file_location(name, ROOT / folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Registered before execution, because dataclasses look up their module in sys.modules.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
