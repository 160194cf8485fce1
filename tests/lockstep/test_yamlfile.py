"""A values file means the same to Lockstep and to Helm; what Lockstep refuses beyond Helm is listed here."""

from __future__ import annotations

import contextlib
import json
import string
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from lockstep.errors import UsageError, ValuesError
from lockstep.yamlfile import parse, read, read_rows

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import DebugChart

SCALARS = (
    "yes Yes YES y Y n N no off OFF on true True TRUE tRue yEs 017 08 0o17 0O17 0x1F 0X1F 0b11 1_000 _1 1__0 1e3 "
    "1E3 1.5e3 1e400 1.0 1. .5 +1 -1 +.5 -0 -0.0 1:30 190:2:3 2024-01-01 2024-01-01T00:00:00Z null Null NULL nULL ~ = "
    "1048576 9007199254740993 12345678901234567890 -9223372036854775809 123456789012345678901234567890 1_000.5 .5_0 "
    "._5 .5_ 0x_1F -0x1F +0x1F -0o17 -0b11 0b12 0o8 0x 0b 00 0 1e03 1_e3 .e3 e3 1e-7 1e21 1e-400 0x1p-2 + 1,000 10Gi "
    "25% << '1' \"yes\" 'null' \"0x1F\" v1.2 1.2.3 12e 0.1 123456789.123456789 !!str !!float 1 !!int '3' !!bool 'yes'"
)


def scalars() -> list[str]:
    """Split the table, keeping a tag and its value together."""
    words: list[str] = []
    for word in SCALARS.split():
        if words and words[-1].startswith("!!") and word[0] not in "!":
            words[-1] += " " + word
        else:
            words.append(word)
    return words


def as_doubles(value: object) -> object:
    """Give numbers the precision that Helm keeps, booleans aside, so that an int and a double compare by value."""
    if isinstance(value, dict):
        return {key: as_doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_doubles(item) for item in value]
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def test_every_scalar_means_what_it_means_to_helm(debug_chart: DebugChart) -> None:
    """Booleans, octals, exponents, dates, big integers: one table, one Helm run."""
    lines = [f"k{index}: {word}" for index, word in enumerate(scalars())]
    text = "\n".join(lines) + "\n"
    expected = as_doubles(debug_chart.values_of(text))
    actual = as_doubles(parse(text))

    assert expected == actual


@settings(max_examples=12, deadline=None, phases=[Phase.generate])
@given(
    st.lists(
        st.text(alphabet="0123456789_+-.eExXoObBaAfFyYnNtT~:%", min_size=1, max_size=7).filter(
            lambda word: word[0] not in "%-:" and not word.endswith(":")
        ),
        min_size=200,
        max_size=200,
    )
)
def test_plain_scalars_at_random(debug_chart: DebugChart, words: list[str]) -> None:
    """Words made of the letters that numbers and booleans are made of, 200 to a Helm run."""
    text = "".join(f"k{index}: {word}\n" for index, word in enumerate(words) if not is_infinite(word))
    expected = as_doubles(debug_chart.values_of(text))
    actual = as_doubles(parse(text))

    assert expected == actual


def is_infinite(word: str) -> bool:
    """Say whether a word is a number without a JSON form, which both refuse."""
    return word.lower().lstrip("+-") in {".inf", ".nan"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("# only a comment\n", id="comment"),
        pytest.param("null\n", id="null"),
        pytest.param("---\n---\na: 1\n", id="first-document-empty"),
        pytest.param("a: 1\n---\n", id="second-document-empty"),
        pytest.param("\ufeffa: 1\n", id="byte-order-mark"),
        pytest.param("1: a\ntrue: b\n1.5: c\nyes1: d\n0x10: e\n", id="keys-become-text"),
        pytest.param("a: &x {p: 1}\nb: {<<: *x, q: 2}\n", id="merge-key"),
        pytest.param("x: &x {a: 1}\nk: {a: 2, <<: *x}\n", id="merge-key-last"),
        pytest.param("b: {<<: [{p: 1}, {p: 2, z: 3}], q: 2}\n", id="merge-list"),
        pytest.param("'<<': {a: 1}\n", id="quoted-merge-key"),
        pytest.param("a: |\n  x\n   y\nb: >-\n  x\n  y\n", id="block-scalars"),
        pytest.param("a: '日本語 😀'\nb: \"\\u65e5\\n\"\n", id="unicode"),
    ],
)
def test_documents_mean_what_they_mean_to_helm(debug_chart: DebugChart, text: str) -> None:
    """Documents, keys, anchors and block scalars as Helm takes them."""
    expected = debug_chart.values_of(text)
    actual = parse(text)

    assert expected == actual


@pytest.mark.parametrize(
    ("text", "line", "fragment"),
    [
        pytest.param("- 1\n", 1, "a list, not a mapping", id="list"),
        pytest.param("\n5\n", 2, "an integer, not a mapping", id="number"),
        pytest.param("hello\n", 1, "text, not a mapping", id="text"),
        pytest.param("a: 1\nb: [1,,2]\n", 2, "not valid YAML", id="syntax"),
        pytest.param("a: {\n", 2, "not valid YAML", id="unfinished"),
        pytest.param("a:\n\tb: 1\n", 2, "not valid YAML", id="tab"),
        pytest.param("a: *nope\n", 1, "undefined alias", id="unknown-alias"),
        pytest.param("a: .inf\n", 1, "not a number that JSON can hold", id="infinite"),
        pytest.param("a: 1\n~: 2\n", 2, "a key must be text, not null", id="null-key"),
        pytest.param("? [a]\n: 2\n", 1, "a key must be text", id="list-as-key"),
        pytest.param("a: {<<: 3}\n", 1, "`<<` takes a mapping", id="merge-of-a-number"),
        pytest.param("a: !!int abc\n", 1, "`abc` is text", id="tag-against-value"),
        pytest.param("a: &a [*a]\n", 1, "nested deeper", id="alias-of-itself"),
        pytest.param("a: 'x\x07'\n", None, "not valid YAML", id="control-character"),
        pytest.param("%YAML 1.2\n---\na: 1\n", None, "remove that line", id="yaml-version"),
    ],
)
def test_what_helm_refuses_is_refused_with_its_line(
    debug_chart: DebugChart, text: str, line: int | None, fragment: str
) -> None:
    """Helm's refusals are ours, with the line and a sentence of our own."""
    with pytest.raises(ValuesError, match=fragment) as caught:
        parse(text)

    assert line == caught.value.line
    assert debug_chart.refuses(text)


@pytest.mark.parametrize(
    ("text", "line", "fragment"),
    [
        pytest.param("a: 1\nb:\n  c: 1\n  c: 2\n", 4, "`c` is given twice .first on line 3", id="duplicate-key"),
        pytest.param("1: a\n'1': b\n", 2, "`1` is given twice", id="duplicate-after-conversion"),
        pytest.param("a: 1\n---\nb: 2\n", 3, "a second YAML document", id="two-documents"),
        pytest.param("a: !vault x\n", 1, "the tag !vault has no meaning", id="foreign-tag"),
        pytest.param("a: " + "[" * 101 + "]" * 101, 1, "nested deeper than 100", id="depth"),
        pytest.param(
            "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
            + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 8)),
            1,
            "once aliases",
            id="alias-bomb",
        ),
    ],
)
def test_what_lockstep_refuses_beyond_helm(text: str, line: int, fragment: str) -> None:
    """Helm would keep one of two keys, merge the documents or ignore the tag, and say nothing."""
    with pytest.raises(ValuesError, match=fragment) as caught:
        parse(text)

    assert line == caught.value.line


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=string.printable + "é日\x00\x07", max_size=60))
def test_any_text_is_a_mapping_or_a_refusal(text: str) -> None:
    """No text ends in another exception."""
    value: object = {}
    with contextlib.suppress(ValuesError):
        value = parse(text)

    assert isinstance(json.loads(json.dumps(value)), dict)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A missing file is wrong use, not a finding."""
    with pytest.raises(UsageError, match=r"no\.yaml: no such file"):
        read(tmp_path / "no.yaml")


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    """Bytes of another encoding are refused with the line."""
    file = tmp_path / "latin.yaml"
    file.write_bytes(b"a: 1\nb: caf\xe9\n")
    with pytest.raises(ValuesError, match="not UTF-8") as caught:
        read(file)

    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1", [{"a": 1}], id="a mapping"),
        pytest.param("- {a: 1}\n- {b: y}\n", [{"a": 1}, {"b": True}], id="a list of mappings"),
        pytest.param("", [{}], id="nothing"),
    ],
)
def test_a_file_of_rows(tmp_path: Path, text: str, expected: list[dict[str, object]]) -> None:
    """One mapping or several, with Helm's meaning of scalars."""
    (tmp_path / "rows.yaml").write_text(text, encoding="utf-8")

    assert expected == read_rows(tmp_path / "rows.yaml")


def test_a_row_that_is_no_mapping(tmp_path: Path) -> None:
    """The line of the row is named."""
    (tmp_path / "rows.yaml").write_text("- {a: 1}\n- 2\n", encoding="utf-8")

    with pytest.raises(ValuesError, match="the list holds an integer, not only mappings") as refusal:
        read_rows(tmp_path / "rows.yaml")

    assert 2 == refusal.value.line
