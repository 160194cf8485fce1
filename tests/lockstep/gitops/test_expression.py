"""Templates of an ApplicationSet are evaluated as Argo CD would, or refused: nothing is guessed."""

from __future__ import annotations

import pytest

from lockstep.errors import ValuesError
from lockstep.gitops import evaluate, expression

PARAMETERS = {
    "name": "east",
    "metadata": {"labels": {"lockstep/ring": "canary"}},
    "path": {"path": "argocd/deployments/east/r1", "basename": "r1", "segments": ["argocd", "deployments"]},
    "presets": ["accelerators/h100-8", "models/deepseek-r1"],
    "replicas": 1048576,
    "empty": "",
    "none": None,
}
GOOD = {
    "no action {at} }} all": "no action {at} }} all",
    "{{ .name }}.{{ .path.basename }}": "east.r1",
    "{{- .name -}} x": "eastx",
    "{{/* .nothing */}}{{ .name }}": "east",
    '{{ index .metadata.labels "lockstep/ring" }}': "canary",
    "{{ index .path.segments 1 }}": "deployments",
    "{{ range $i, $p := .presets }}{{ $i }}={{ $p }},{{ $.name }} {{ end }}": (
        "0=accelerators/h100-8,east 1=models/deepseek-r1,east "
    ),
    "{{ with .path }}{{ .basename }}{{ end }}": "r1",
    '{{ if eq (get . "onRemoval") "delete" }}x{{ else }}y{{ end }}': "y",
    '{{ if hasKey . "presets" }}{{ .presets | toJson }}{{ end }}': '["accelerators/h100-8","models/deepseek-r1"]',
    "{{ .replicas }}": "1.048576e+06",  # every number of a file is a double, in both
    "{{ .empty }}": "",
    '{{ printf "%s }} %s" .name `}}` }}': "east }} }}",
    "{{ .name | upper | quote }}": '"EAST"',
    '{{ dict "a" .name | toYaml }}': "a: east",
}


def test_what_both_engines_share_is_evaluated() -> None:
    """Fields, pipelines, blocks, variables and sprig, in one run of Helm."""
    assert list(GOOD.values()) == evaluate.texts([(text, PARAMETERS) for text in GOOD])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("{{ .nothing }}", ".nothing is not defined", id="key"),
        pytest.param("{{ .path.nothing }}", ".path.nothing is not defined", id="key of a mapping"),
        pytest.param("{{ range .presets }}{{ $.nothing }}{{ end }}", "$.nothing is not defined", id="key of the root"),
        pytest.param("{{ if .nothing }}x{{ end }}", ".nothing is not defined", id="key in a condition"),
        pytest.param("{{ .none }}", "uses a key that is not there", id="null"),
        pytest.param('{{ index .metadata.labels "x" }}', "uses a key that is not there", id="key of labels"),
        pytest.param("{{ .name.first }}", "expected map", id="field of a text"),
        pytest.param("{{ nothing .name }}", 'function "nothing" not defined', id="function of nobody"),
        pytest.param("{{ if }}", "missing value for if", id="no template"),
    ],
)
def test_what_argo_cd_would_stop_at_is_an_error(text: str, expected: str) -> None:
    """With the template that was written in the message, also where another one is right."""
    with pytest.raises(ValuesError) as caught:
        evaluate.texts([("{{ .name }}", PARAMETERS), (text, PARAMETERS)])

    assert str(caught.value).startswith(text)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{{ include "x" . }}', "Argo CD does not have it, only Helm", id="of Helm"),
        pytest.param('{{ .name | required "x" }}', "Argo CD does not have it, only Helm", id="of Helm in a pipeline"),
        pytest.param("{{ slugify .name }}", "only Argo CD has it", id="of Argo CD"),
        pytest.param("{{ now }}", "gives something else each time", id="time"),
        pytest.param("{{ randAlphaNum 5 }}", "gives something else each time", id="random"),
        pytest.param('{{ template "x" }}', "named templates", id="named template"),
        pytest.param('{{ (get . "path").basename }}', "field of an expression in brackets", id="field of brackets"),
    ],
)
def test_what_the_engines_do_not_share_is_refused(text: str, expected: str) -> None:
    """Without a run of Helm; a function's name inside of a text is only a text."""
    with pytest.raises(ValuesError, match=expected):
        expression.read(text)

    assert '{{ "include now slugify" }}' == expression.read('{{ "include now slugify" }}').guarded


@pytest.mark.parametrize(
    ("text", "keys", "everything"),
    [
        pytest.param("{{ .a.b }}{{ $.c }}", {"a", "c"}, False, id="fields"),
        pytest.param('{{ get . "a" }}{{ hasKey $ "b" }}', {"a", "b"}, False, id="keys that functions take"),
        pytest.param("{{ range .a }}{{ .b }}{{ . }}{{ end }}{{ .c }}", {"a", "c"}, False, id="a dot of a block"),
        pytest.param("{{ if .a }}{{ .b }}{{ end }}", {"a", "b"}, False, id="a condition is no block"),
        pytest.param("{{ toYaml . }}", set(), True, id="all of them"),
        pytest.param("{{ range .a }}{{ toJson $ }}{{ end }}", {"a"}, True, id="all of them from a block"),
    ],
)
def test_the_keys_that_a_template_uses_are_known(text: str, keys: set[str], *, everything: bool) -> None:
    """So that a key which nobody reads is found, and none is called unread that might be read."""
    read = expression.read(text)

    assert (keys, everything) == (set(read.keys), read.everything)
