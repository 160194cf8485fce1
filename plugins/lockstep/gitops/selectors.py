"""Label selectors, with the meaning that Kubernetes gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.errors import ValuesError
from lockstep.release import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lockstep.yamlfile import Value, Values

_PLAIN: Final = 10**6  # Argo CD writes larger numbers with an exponent


class Texts(dict[str, "Value"]):
    """A mapping that Argo CD holds as one of texts: a generator's selector does not look into it."""


def matches(labels: Mapping[str, str], selector: Mapping[str, Value]) -> bool:
    """Say whether labels fit a selector.

    Parameters
    ----------
    labels : mapping of str to str
        What is looked at.
    selector : mapping
        With ``matchLabels`` and ``matchExpressions``.

    Returns
    -------
    bool
        Whether everything that it asks for is there.
    """
    pairs = all(labels.get(key) == value for key, value in table(selector, "matchLabels").items())
    return pairs and matches_expressions(labels, selector.get("matchExpressions"))


def matches_expressions(labels: Mapping[str, str], expressions: Value) -> bool:
    """Say whether labels fit every one of ``matchExpressions``."""
    rows = expressions if isinstance(expressions, list) else []
    return all(_fits(labels, row) for row in rows if isinstance(row, dict))


def _fits(labels: Mapping[str, str], row: Mapping[str, Value]) -> bool:
    key, values = str(row.get("key")), row.get("values")
    wanted = values if isinstance(values, list) else []
    operator = row.get("operator")
    if operator in ("Exists", "DoesNotExist"):
        return (key in labels) is (operator == "Exists")
    return (labels.get(key) in wanted) is (operator == "In")


def picks(parameters: Values, selector: Mapping[str, Value]) -> bool:
    """Say whether a generator's selector picks a parameter set.

    Parameters
    ----------
    parameters : Values
        What a generator yields.
    selector : mapping
        The selector beside it.

    Returns
    -------
    bool
        Whether the parameters, their paths joined by dots and written as text, fit as labels do.

    Raises
    ------
    ValuesError
        If it asks for a number that Argo CD writes in another way, or for what it does not look into.
    """
    wanted = set(keys(selector))
    flat = dict(_flat("", parameters))
    for path in (path for path, value in flat.items() if isinstance(value, (dict, list))):
        if inside := next((key for key in wanted if key.startswith(f"{path}.")), None):
            raise ValuesError(
                f"a selector asks for {inside}, but Argo CD does not look into {path} there; pick clusters by the "
                "selector inside of the generator clusters"
            )
    return matches({path: _written(path, value) for path, value in flat.items() if path in wanted}, selector)


def keys(selector: Mapping[str, Value]) -> Iterator[str]:
    """Give the keys that a selector asks for."""
    yield from table(selector, "matchLabels")
    rows = selector.get("matchExpressions")
    yield from (str(row.get("key")) for row in (rows if isinstance(rows, list) else ()) if isinstance(row, dict))


def _flat(path: str, value: Value) -> Iterator[tuple[str, Value]]:
    if isinstance(value, (dict, list)) and not isinstance(value, Texts) and not path.endswith("path.segments"):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _flat(f"{path}.{key}" if path else str(key), item)
    else:
        yield path, value


def _written(path: str, value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) or (isinstance(value, int) and abs(value) >= _PLAIN):
        raise ValuesError(f"a selector asks for {path}, which is the number {value}: quote it where it is set")
    return "<nil>" if value is None else str(value)
