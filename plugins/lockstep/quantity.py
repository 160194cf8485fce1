"""Kubernetes quantities: ``10Gi``, ``500m``, ``1e10``."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_FORM: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][0-9]+)?)([mkMGTPE]|[KMGTPE]i)?")
_UNITS: Final = {
    "": Decimal(1),
    "m": Decimal("1e-3"),
    **{unit: Decimal(1000) ** power for power, unit in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
    **{unit: Decimal(1024) ** power for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
}


def amount(text: str | float) -> Decimal | None:
    """Read a quantity.

    Parameters
    ----------
    text : str or float
        As in a values file. Source of the form: the Quantity type of k8s.io/apimachinery.

    Returns
    -------
    Decimal or None
        The amount in its base unit (bytes, cores, pieces); None if the text is no quantity.
    """
    match = _FORM.fullmatch(str(text))
    return Decimal(match[1]) * _UNITS[match[2] or ""] if match else None
