"""What a rehearsal or a test may choose: each field is one environment variable, ``STANDIN_<NAME>``."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields


class SettingError(ValueError):
    """A ``STANDIN_*`` variable that cannot be read; the text says which and why."""


@dataclass(frozen=True)
class Settings:
    """The stand-in's settings.

    Attributes
    ----------
    version : str
        Of the engine to imitate: decides which flags are known.
    version_seconds : float
        How long ``vllm --version`` takes (the real one imports the engine: 5 to 25 s).
    import_seconds, load_seconds : float
        Before the first line of the engine's own work, and from the complete rendezvous to the
        loaded model.
    tokens_per_second : float
        One step of the engine makes one token for each running request.
    prefill_tokens_per_second : float
        Prompt tokens read per second before a request's first token.
    seed : int
        The answers are a function of this number and the prompt.
    scale : float
        Factor on every duration that was measured on the real engine (``behaviour.py``); 1 is as
        slow as the real one.
    heads, layers, context : int
        The model's shape, where no local ``config.json`` says it; 0 is unknown and checks nothing.
    cache_tokens : int
        How many tokens of running requests fit at once, in the measure of ``kv_cache_usage_perc``.
    orphan_seconds : float
        Safety net of this program alone: processes whose parent is gone end after so long.
    control : str
        A file that a test may write into while the engine runs: ``exit CODE``.
    """

    version: str = "0.32.0"
    version_seconds: float = 0.0
    import_seconds: float = 0.2
    load_seconds: float = 1.0
    tokens_per_second: float = 50.0
    prefill_tokens_per_second: float = 20000.0
    seed: int = 0
    scale: float = 0.1
    heads: int = 0
    layers: int = 0
    context: int = 0
    cache_tokens: int = 100_000
    orphan_seconds: float = 900.0
    control: str = ""

    @classmethod
    def from_environment(cls) -> Settings:
        """Read all ``STANDIN_*`` variables.

        Raises
        ------
        SettingError
            When a variable has no field of its name, or holds no number where one is needed.
        """
        chosen: dict[str, str | int | float] = {}
        kinds = {field.name: {"str": str, "int": int, "float": float}[str(field.type)] for field in fields(cls)}
        for name, text in os.environ.items():
            if not name.startswith("STANDIN_"):
                continue
            field = name.removeprefix("STANDIN_").lower()
            if field not in kinds:
                known = ", ".join(f"STANDIN_{each.upper()}" for each in kinds)
                raise SettingError(f"{name} is no setting of the stand-in; there are: {known}")
            try:
                chosen[field] = kinds[field](text)
            except ValueError:
                raise SettingError(f"{name} is {text!r}: a number is expected") from None
        return cls(**chosen)  # type: ignore[arg-type]
