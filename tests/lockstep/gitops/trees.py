"""Repositories that hold the shipped fleet with changes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from lockstep import share

if TYPE_CHECKING:
    from collections.abc import Mapping

FLEET = Path(__file__).parents[3] / "argocd"


def plant(root: Path, changes: Mapping[str, str | Mapping[str, str] | None], *, copies: bool = False) -> Path:
    """Put the fleet into a folder that looks like a repository.

    Each change is a path with its new text, with texts to replace, or with None to remove it. The charts and presets
    are linked, or copied where a test changes them.
    """
    (root / ".git").mkdir()
    shutil.copytree(FLEET, root / "argocd")
    for name in ("charts", "values"):
        if copies:
            shutil.copytree(share.folder(name), root / name, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
        else:
            (root / name).symlink_to(share.folder(name))
    for path, change in changes.items():
        file = root / path
        if change is None:
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        elif isinstance(change, str):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(change, encoding="utf-8")
        else:
            text = file.read_text(encoding="utf-8")
            for old, new in change.items():
                assert old in text, f"{path} has no {old!r}"
                text = text.replace(old, new)
            file.write_text(text, encoding="utf-8")
    return root / "argocd"


def plant_example(root: Path, text: str) -> Path:
    """Put the fleet there with the changes that an example of ``codes.yaml`` names."""
    return plant(root, yaml.safe_load(text))
