"""Plug-ins as pip leaves them: a module and a folder of metadata with the entry points."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lockstep import codes, plugins
from lockstep.memory.accelerators import accelerators
from lockstep.model.facts import configs

if TYPE_CHECKING:
    from pathlib import Path

CACHES = (plugins._entries, plugins.plugins, codes.known, accelerators, configs)


def forget(*modules: str) -> None:
    """Forget the plug-ins that were loaded."""
    for cached in CACHES:
        cached.cache_clear()
    for module in modules:
        sys.modules.pop(module, None)


def write_plugin(folder: Path, source: str, **groups: str) -> None:
    """Write the package ``acme`` with a module of that name; each group of entry points has one, called ``mine``."""
    metadata = folder / "acme-1.2.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.2\n")
    entries = [f"[lockstep.{group}]\nmine = {value}\n" for group, value in groups.items()]
    (metadata / "entry_points.txt").write_text("".join(entries))
    (folder / "acme.py").write_text(source)
