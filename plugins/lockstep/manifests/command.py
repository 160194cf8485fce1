"""The engine that a command starts, and what it is told."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# What each engine calls the parts of a layout; `port` and `host` are its own defaults.
NAMES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "vllm": {
        "model": ("model", "model-tag"),
        "name": ("served-model-name",),
        "tensor": ("tensor-parallel-size", "tp"),
        "pipeline": ("pipeline-parallel-size", "pp"),
        "data": ("data-parallel-size", "dp"),
        "context": ("prefill-context-parallel-size", "pcp"),
        "nodes": ("nnodes", "n"),
        "rank": ("node-rank", "r"),
        "headless": ("headless",),
        "executor": ("distributed-executor-backend",),
        "experts": ("enable-expert-parallel", "ep"),
        "hybrid": ("data-parallel-hybrid-lb", "dph"),
        "external": ("data-parallel-external-lb", "dpe", "data-parallel-rank", "dpn"),
        "local": ("data-parallel-size-local", "dpl"),
        "start": ("data-parallel-start-rank", "dpr"),
        "address": ("data-parallel-address", "dpa", "master-addr", "master-port", "data-parallel-rpc-port", "dpp"),
        "host": ("host",),
        "port": ("port",),
    },
    "sglang": {
        "model": ("model-path", "model"),
        "name": ("served-model-name",),
        "tensor": ("tp-size", "tp", "tensor-parallel-size"),
        "pipeline": ("pp-size", "pp", "pipeline-parallel-size"),
        "data": ("attn-dp-size", "attention-data-parallel-size", "dp-size", "dp", "data-parallel-size"),
        "attention": ("enable-dp-attention", "attn-dp-size", "attention-data-parallel-size"),
        "experts": ("ep-size", "ep", "expert-parallel-size"),
        "nodes": ("nnodes",),
        "rank": ("node-rank",),
        "address": ("dist-init-addr", "nccl-init-addr"),
        "host": ("host",),
        "port": ("port",),
    },
    "trtllm": {
        "model": ("model",),
        "name": ("served-model-name",),
        "tensor": ("tp-size", "tensor-parallel-size"),
        "pipeline": ("pp-size", "pipeline-parallel-size"),
        "context": ("cp-size", "context-parallel-size"),
        "experts": ("ep-size", "moe-expert-parallel-size"),
        "nodes": (),
        "rank": (),
        "host": ("host",),
        "port": ("port",),
    },
}
PORTS: Final = {"vllm": "8000", "sglang": "30000", "trtllm": "8000"}
# SGLang and TensorRT-LLM listen on the loopback address of their own accord (facts of their command lines).
LOOPBACK: Final = {"sglang": "127.0.0.1", "trtllm": "localhost"}
FACTORS: Final = ("tensor", "pipeline", "data", "context")
_MODULES: Final = {
    "vllm.entrypoints.openai.api_server": "vllm",
    "vllm.entrypoints.api_server": "vllm",
    "vllm.entrypoints.cli.main": "vllm",
    "sglang.launch_server": "sglang",
}
_OPEN: Final = "$"  # stands for flags that come from a variable which is not known
_NUMBER: Final = re.compile(r"-\d+(\.\d+)?")
_SHORT_WITH_VALUE: Final = re.compile(r"-([a-z]+)(\d+)")


@dataclass(frozen=True)
class Engine:
    """An engine as a command starts it.

    Parameters
    ----------
    name : str
        ``vllm``, ``sglang`` or ``trtllm``.
    flags : mapping of str to str
        Its flags by their bare name with ``-`` for ``_``; a switch is ``true``.
    module : bool
        Whether it is started as ``python -m`` instead of by its own command.
    """

    name: str
    flags: Mapping[str, str] = field(default_factory=dict)
    module: bool = False

    def flag(self, part: str) -> tuple[str, str] | None:
        """Give the flag that stands for a part of the layout, with its value."""
        for name in NAMES[self.name].get(part, ()):
            for given, value in self.flags.items():
                if given == name or (len(name) > 12 and len(given) > 9 and name.startswith(given)):
                    return given, value
        return None

    def text(self, part: str, default: str = "") -> str:
        """Give the value of a part as it is written."""
        found = self.flag(part)
        return found[1] if found else default

    def number(self, part: str, default: int = 1) -> int | None:
        """Give a part that is a whole number; None if that cannot be told."""
        written = self.text(part, str(default))
        return int(written) if re.fullmatch(r"\d{1,6}", written) else None

    def has(self, part: str) -> bool:
        """Say whether a part is given at all."""
        return self.flag(part) is not None

    @property
    def open(self) -> bool:
        """Whether it is told more than can be read."""
        return _OPEN in self.flags

    @property
    def port(self) -> str:
        """The port that it serves on, as it is written."""
        return self.text("port", PORTS[self.name])

    @property
    def ranks(self) -> int | None:
        """GPUs that the layout needs; None if a factor cannot be told."""
        total = 1
        for factor in FACTORS:
            number = self.number(factor)
            if number is None:
                return None
            inside = factor == "data" and self.name == "sglang" and self.has("attention")
            total *= 1 if inside else number
        return total

    @property
    def unread(self) -> list[str]:
        """Flags of the layout whose values only a running shell knows."""
        parts = (*FACTORS, "nodes", "model", "port")
        found = (self.flag(part) for part in parts)
        more = [f"what {self.flags[_OPEN]} adds"] if self.open else []
        return [f"the value of --{each[0]} {each[1]}" for each in found if each and "$" in each[1]] + more

    def others(self) -> Iterator[tuple[str, str]]:
        """Give the flags that are no part of the layout."""
        owned = {_OPEN, *(name for names in NAMES[self.name].values() for name in names)}
        yield from ((name, value) for name, value in self.flags.items() if name not in owned)


@dataclass(frozen=True)
class Ray:
    """A node of a Ray cluster that a command starts."""

    head: bool


def engines(commands: Sequence[list[str]]) -> list[Engine]:
    """Find the engines among commands, in their order."""
    return [engine for words in commands if (engine := _engine(words))]


def ray(commands: Sequence[list[str]]) -> Ray | None:
    """Find the start of a Ray node among commands, also through vLLM's helper script."""
    for words in commands:
        names = [PurePosixPath(word).name for word in words]
        for at, name in enumerate(names[:-1]):
            if name == "ray" and names[at + 1] == "start":
                return Ray("--head" in words)
            if name == "multi-node-serving.sh":
                return Ray(words[at + 1] == "leader")
    return None


def served(settings: Mapping[str, object]) -> Engine:
    """Give the engine that Ray Serve starts with keyword arguments."""
    flags = {
        name.replace("_", "-"): str(value) for name, value in settings.items() if not isinstance(value, dict | list)
    }
    return Engine("vllm", {**flags, "distributed-executor-backend": "ray"})


def stock(image: str, args: Sequence[str]) -> list[str]:
    """Give the command of an image without one: vLLM's own image serves."""
    return ["vllm", "serve", *args] if repository(image).endswith("vllm-openai") else list(args)


def repository(image: str) -> str:
    """Give an image without tag and digest."""
    head, slash, last = image.partition("@")[0].rpartition("/")
    return head + slash + last.partition(":")[0]


def tag(image: str) -> str:
    """Give an image's tag; empty if it has none."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]


def _engine(words: list[str]) -> Engine | None:
    names = [PurePosixPath(word).name for word in words]
    for at, name in enumerate(names):
        following = words[at + 1] if at + 1 < len(words) else ""
        if name in ("vllm", "sglang") and following == "serve":
            return told(name, words[at + 2 :])
        if name == "trtllm-serve":
            return told("trtllm", words[at + (2 if following == "serve" else 1) :])
        if words[at] == "-m" and following in _MODULES:
            rest = words[at + 2 :]
            return told(_MODULES[following], rest[1:] if rest[:1] == ["serve"] else rest, module=True)
    return None


def told(name: str, words: list[str], *, module: bool = False) -> Engine:
    """Give the engine that is told these words."""
    flags: dict[str, str] = {}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not _is_flag(word):
            flags.setdefault(_OPEN if word.startswith("$") and "model" in flags else "model", word)
            continue
        bare, equals, value = word.partition("=")
        bare = bare.lstrip("-").replace("_", "-")
        tight = _SHORT_WITH_VALUE.fullmatch(word)
        if tight:
            bare, value = tight.groups()
        elif not equals and at < len(words) and not _is_flag(words[at]):
            value = words[at]
            at += 1
            while at < len(words) and not _is_flag(words[at]) and bare in ("served-model-name", "lora-modules"):
                at += 1
        elif not equals:
            value = "true"
        flags[bare] = value
    return Engine(name, flags, module)


def _is_flag(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not _NUMBER.fullmatch(word)
