"""The house rules of templates, as far as a machine can read them."""

from __future__ import annotations

import re

import pytest

from .rendering import CHART, FIVE_LINES, text, values

TEMPLATES = {str(path.relative_to(CHART / "templates")): path for path in sorted(CHART.rglob("templates/**/*.*"))}
DEFINE = re.compile(r'^\{\{- define "([^"]+)" -\}\}\n(.*?)^\{\{- end \}\}\n', re.MULTILINE | re.DOTALL)


def source(name: str) -> str:
    """Read a template."""
    return TEMPLATES[name].read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TEMPLATES)
def test_files_and_helpers_are_short(name: str) -> None:
    """150 lines a file, 30 a helper."""
    assert len(source(name).splitlines()) <= 150
    for helper, body in DEFINE.findall(source(name)):
        assert len(body.splitlines()) <= 30, helper


@pytest.mark.parametrize("name", [name for name in TEMPLATES if name.endswith(".tpl")])
def test_every_helper_says_what_it_is_for_and_what_it_expects(name: str) -> None:
    """The comment right above it names it, and its context."""
    defined = [helper for helper, _ in DEFINE.findall(source(name))]
    comments = dict(re.findall(r"\{\{- /\* (serving\.[\w.]+): (.*?) \*/\}\}\n\{\{- define", source(name), re.DOTALL))

    assert source(name).count("{{- define ") == len(defined)
    assert defined == list(comments)
    for helper, comment in comments.items():
        assert helper.startswith("serving.")
        assert "Context:" in comment, helper


@pytest.mark.parametrize("name", TEMPLATES)
def test_engine_and_stack_are_never_compared_with_a_name(name: str) -> None:
    """A new engine or stack is a new file; only a stack's own template asks, on its first line."""
    found = re.findall(r'(?:eq|ne|has)\b[^}]*?\.(?:engine|stack)\.name\s+"\w+"', source(name))
    first = source(name).splitlines()[0]
    own = name.startswith("stack/") and name.endswith(".yaml")

    assert len(found) == (1 if own else 0)
    if own:
        assert f'{{{{- if eq .Values.stack.name "{name[6:-5]}" }}}}' == first


@pytest.mark.parametrize("name", [name for name in TEMPLATES if not name.endswith(".tpl")])
def test_whatever_is_rendered_begins_with_what_all_parts_ask_for(name: str) -> None:
    """None leans on another for .known: Helm promises no order. Only a stack's question may come before."""
    begin = [line for line in source(name).splitlines() if not line.startswith("{{- if eq .Values.stack.name ")]

    assert begin[0] in ('{{- include "serving.know" . }}', '{{- include "serving.know" . -}}')


@pytest.mark.parametrize("name", TEMPLATES)
def test_rendering_depends_on_values_alone(name: str) -> None:
    """Argo CD renders without a cluster, again and again; of Helm's hooks it leaves those of ``helm test`` alone."""
    forbidden = re.compile(
        r"\b(lookup|rand\w+|uuidv4|now|genCA|gen\w+Cert|genPrivateKey|htpasswd|bcrypt)\b"
        r"|\.Release\.(Revision|IsUpgrade|IsInstall)|\.Capabilities|helm\.sh/hook: (?!test\b)"
    )

    assert [] == forbidden.findall(re.sub(r"\{\{- /\*.*?\*/", "", source(name), flags=re.DOTALL))


def test_the_same_values_give_the_same_bytes() -> None:
    """Twice, on another cluster and at an upgrade."""
    given = values({"engine": {"args": {"b": {"y": 1, "x": [True, None]}, "a": "1"}}})

    once = text(given)

    assert once == text(given, flags=("--namespace", "serving"))
    assert once == text(given, flags=("--api-versions", "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet"))
    assert once == text(given, flags=("--is-upgrade",))


def test_objects_carry_their_namespace() -> None:
    """`helm template | kubectl apply` puts them where helm install would."""
    assert text(FIVE_LINES).count('\n  namespace: "serving"\n') == 7
