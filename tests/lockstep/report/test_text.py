"""Findings as text: colour only where it is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.findings import Finding, has_errors
from lockstep.report import to_text

ERROR = Finding("PAR001", "parallelism", "12 is not 16", "Set 8.")
WARNING = Finding("OPS011", "replicas", "one replica", "Have two.")


def test_errors_come_first() -> None:
    """What must be mended is read first."""
    text = to_text([(Path("a.yaml"), [WARNING, ERROR])], colour=False)

    assert text == (
        "error PAR001 parallelism\n  12 is not 16.\n  Set 8.\n"
        "warning OPS011 replicas\n  one replica.\n  Have two.\n"
        "a.yaml: 1 error, 1 warning"
    )


def test_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the severity is coloured."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = to_text([(Path("a.yaml"), [ERROR])], colour=True)

    assert text.startswith("\033[31merror\033[0m PAR001 parallelism\n")


def test_no_color_overrules(monkeypatch: pytest.MonkeyPatch) -> None:
    """https://no-color.org."""
    monkeypatch.setenv("NO_COLOR", "1")
    text = to_text([(Path("a.yaml"), [ERROR])], colour=True)

    assert text.startswith("error PAR001")


@pytest.mark.parametrize(
    ("findings", "strict", "expected"),
    [
        pytest.param([], False, False, id="none"),
        pytest.param([WARNING], False, False, id="warning"),
        pytest.param([WARNING], True, True, id="warning-strict"),
        pytest.param([WARNING, ERROR], False, True, id="error"),
    ],
)
def test_what_fails_a_check(findings: list[Finding], strict: bool, expected: bool) -> None:
    """A warning fails only a strict check."""
    assert expected == has_errors(findings, strict=strict)
