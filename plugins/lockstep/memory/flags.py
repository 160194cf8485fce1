"""Reading an engine's own flags from ``engine.args``."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lockstep.yamlfile import Value

__all__ = ["Flags"]

# vLLM ``engine/arg_utils.py`` human_readable_int: a small letter is a power of 1000, a capital one of 1024.
SCALES = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class Flags:
    """Flags by name; dashes in front and underscores do not matter, as for the engine's parser.

    A value of the wrong kind is the engine's to complain about: here it counts as absent.
    """

    def __init__(self, args: Mapping[str, Value]) -> None:
        self.values = {spelt(key): value for key, value in args.items() if value is not None}

    def __contains__(self, name: str) -> bool:
        """Say whether the flag is given at all."""
        return spelt(name) in self.values

    def text(self, name: str) -> str | None:
        """Return a flag as text."""
        value = self.values.get(spelt(name))
        return None if value is None or isinstance(value, (dict, list)) else str(value)

    def number(self, name: str) -> float | None:
        """Return a number."""
        try:
            number = float(self.text(name) or "")
        except ValueError:
            return None
        return number if math.isfinite(number) else None

    def whole(self, name: str) -> int | None:
        """Return a whole number of at least 1, also when it is written like ``32k`` or ``2M``."""
        match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)([kKmMgGtT]?)", self.text(name) or "")
        if match is None:
            return None
        return int(float(match[1]) * SCALES.get(match[2], 1)) or None

    def on(self, name: str) -> bool:
        """Say whether a switch is on."""
        return self.text(name) in ("True", "true")

    def entry(self, name: str, key: str) -> str | None:
        """Return one entry of a flag that holds a JSON object."""
        value = self.values.get(spelt(name))
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):  # not JSON, too many digits, too deep
                return None
        found = value.get(key) if isinstance(value, dict) else None
        return str(found) if isinstance(found, (str, int)) else None


def spelt(name: str) -> str:
    """Give a flag its one spelling."""
    return name.lstrip("-").replace("_", "-")
