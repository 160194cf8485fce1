"""Evaluate templates with Helm's own engine, all of an ApplicationSet in one run of a throw-away chart."""

from __future__ import annotations

import json
import re
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from lockstep import helm
from lockstep.errors import RenderError, ValuesError
from lockstep.gitops import expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockstep.yamlfile import Value, Values

    Job: TypeAlias = tuple[str, Values]

_NUMBER: Final = re.compile(r'(?:executing "|templates/_|\): )t(\d+)')
_LAST: Final = re.compile(r".*(?:error calling \w+: |>: |\): )(?:t\d+ )?", re.DOTALL)


def texts(jobs: Sequence[Job]) -> list[str]:
    """Evaluate texts.

    Parameters
    ----------
    jobs : sequence of (str, Values)
        Each text with its parameters.

    Returns
    -------
    list of str
        What Argo CD would put there.

    Raises
    ------
    ValuesError
        If one cannot be evaluated: a key is not defined, or a function is not one that Argo CD and Helm share.
    """
    wanted = [(text, params) for text, params in jobs if "{{" in text]
    done = iter(_run(json.dumps(wanted)) if wanted else ())
    return [next(done) if "{{" in text else text for text, _ in jobs]


def structures(jobs: Sequence[tuple[Value, Values]]) -> list[Value]:
    """Evaluate every text inside of structures, keys of mappings included, as Argo CD walks a template.

    Parameters
    ----------
    jobs : sequence of (Value, Values)
        Each structure with its parameters.

    Returns
    -------
    list of Value
        The structures with all texts evaluated.

    Raises
    ------
    ValuesError
        As :func:`texts`.
    """
    found = [(text, params) for value, params in jobs for text in strings(value)]
    done = iter(texts(found))
    return [_put(value, done) for value, _ in jobs]


def strings(value: Value) -> Iterable[str]:
    """Give every text inside of a structure, keys included, in a fixed order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def _put(value: Value, done: Iterable[str]) -> Value:
    """Put evaluated texts back in the order of :func:`strings`."""
    if isinstance(value, str):
        return next(iter(done))
    if isinstance(value, dict):
        return {next(iter(done)): _put(item, done) for item in value.values()}
    if isinstance(value, list):
        return [_put(item, done) for item in value]
    return value


@lru_cache(maxsize=64)  # the same set is rendered twice where two commits are compared
def _run(jobs: str) -> tuple[str, ...]:
    """Evaluate what is given as JSON, so that it can be remembered."""
    wanted: list[Job] = [(text, params) for text, params in json.loads(jobs)]
    templates = {text: f"t{index}" for index, text in enumerate(dict.fromkeys(text for text, _ in wanted))}
    calls = " ".join(f'(include "{templates[text]}" (index .Values.p {n}))' for n, (text, _) in enumerate(wanted))
    files = {
        "Chart.yaml": "{apiVersion: v2, name: x, version: 0.1.0}",
        "values.yaml": json.dumps({"p": [params for _, params in wanted]}),
        "templates/out.yaml": '{{ dict "out" (list ' + calls + ") | toJson }}",
    }
    for text, name in templates.items():
        guarded = expression.read(text, f"{name} ").guarded
        files[f"templates/_{name}.tpl"] = '{{ define "' + name + '" }}' + guarded + "{{ end }}"
    with tempfile.TemporaryDirectory(prefix="lockstep-") as chart:
        Path(chart, "templates").mkdir()
        for file, content in files.items():
            Path(chart, file).write_text(content, encoding="utf-8")
        try:
            printed = helm.run(["template", "x", chart])
        except RenderError as error:
            raise _explained(str(error), templates) from None
    done: list[str] = json.loads(next(line for line in printed.splitlines() if line.startswith("{")))["out"]
    for (text, _), result in zip(wanted, done, strict=True):
        if "<no value>" in result:
            raise ValuesError(f"{_quoted(text)} uses a key that is not there")
    return tuple(done)


def _explained(message: str, templates: dict[str, str]) -> ValuesError:
    """Say Helm's message in terms of the template that was written."""
    numbers = _NUMBER.findall(message)
    reason = _LAST.sub("", message.strip().splitlines()[-1])
    return ValuesError(f"{_quoted([*templates][int(numbers[-1])])}: {reason}" if numbers else message)


def _quoted(text: str) -> str:
    """Quote a template, a long one by its beginning."""
    written = text.strip()
    return written if len(written) < 80 else f"the template that begins with {written.splitlines()[0][:60]}"
