"""Merge values as Helm merges them.

Files lie on top of each other, the chart's defaults beneath all. Maps merge, everything else replaces. A ``null``
from a file removes the default of that key. Source: Helm's ``pkg/cli/values`` (``mergeMaps``) and
``pkg/chart/common/util`` (``CoalesceValues``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockstep.yamlfile import Values


def stack(layers: Iterable[Values]) -> Values:
    """Lay values files on top of each other.

    Parameters
    ----------
    layers : iterable of Values
        From the lowest to the highest.

    Returns
    -------
    Values
        What Helm passes on as the user's values; a ``null`` is still there.
    """
    merged: Values = {}
    for layer in layers:
        merged = _lay(merged, layer)
    return merged


def coalesce(defaults: Values, user: Values) -> Values:
    """Put the chart's defaults beneath the user's values.

    Parameters
    ----------
    defaults : Values
        The chart's ``values.yaml``.
    user : Values
        What :func:`stack` returned.

    Returns
    -------
    Values
        What the templates and the schema see. A ``null`` removes the default of its key; for a key without default
        it stays ``null``. A default that is itself ``null`` is none. Where one side is a map and the other is not,
        the user's value is kept.
    """
    merged = dict(user)
    for key, default in defaults.items():
        if key not in user:
            if default is not None:
                merged[key] = _without_nulls(default) if isinstance(default, dict) else default
            continue
        value = user[key]
        if value is None:
            del merged[key]
        elif isinstance(value, dict) and isinstance(default, dict):
            merged[key] = coalesce(_without_nulls(default), value)
    return merged


def _without_nulls(defaults: Values) -> Values:
    return {
        key: _without_nulls(value) if isinstance(value, dict) else value
        for key, value in defaults.items()
        if value is not None
    }


def _lay(under: Values, over: Values) -> Values:
    merged = dict(under)
    for key, value in over.items():
        beneath = merged.get(key)
        merged[key] = _lay(beneath, value) if isinstance(value, dict) and isinstance(beneath, dict) else value
    return merged
