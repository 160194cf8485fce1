"""``$(NAME)`` expands as kubelet does it; the rows are those of kubernetes' own expansion tests, and the odd ones."""

from __future__ import annotations

import pytest

from lockstep.rehearse.expand import expand

KNOWN = {"VAR_A": "A", "VAR_B": "B", "VAR_REF": "$(VAR_A)", "VAR_EMPTY": ""}


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        pytest.param("A", "$(VAR_A)", id="whole"),
        pytest.param("xAyB", "x$(VAR_A)y$(VAR_B)", id="inside"),
        pytest.param("$(VAR_A)", "$$(VAR_A)", id="escaped"),
        pytest.param("$A", "$$$(VAR_A)", id="escaped, then a reference"),
        pytest.param("$$(VAR_A)", "$$$$(VAR_A)", id="escaped twice"),
        pytest.param("$(VAR_A)", "$(VAR_REF)", id="a value is not expanded again"),
        pytest.param("", "$(VAR_EMPTY)", id="empty value"),
        pytest.param("$(NONE)", "$(NONE)", id="unknown stays"),
        pytest.param("$VAR_A ${VAR_A}", "$VAR_A ${VAR_A}", id="shell forms stay"),
        pytest.param("$(VAR_A", "$(VAR_A", id="never closed"),
        pytest.param("$()", "$()", id="no name"),
        pytest.param("a$", "a$", id="dollar at the end"),
        pytest.param("$a", "$$a", id="doubled dollar"),
        pytest.param("$(foo$(VAR_A))", "$(foo$(VAR_A))", id="nested: the first closing bracket ends it"),
        pytest.param("$(VAR_A", "$$(VAR_A", id="escaped, never closed"),
    ],
)
def test_expansion(expected: str, text: str) -> None:
    """One string."""
    found = expand(text, KNOWN)

    assert expected == found
