"""Labels and annotations that are not the values' to set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release


def owned_keys(release: Release) -> Iterator[Finding]:
    """Refuse keys that selectors, controllers or queues rely on."""
    for section in release.sections:
        for field, entries in (("labels", section.labels), ("annotations", section.annotations)):
            for key in entries:
                row = next((row for row in release.owned.metadata if row.covers(key)), None)
                if row is not None:
                    yield Finding(
                        "STK005",
                        f"{section.name}.{field}.{key}",
                        f"{section.name}.{field} sets {key}, which is not for the values to set",
                        f"Remove it and use {row.use}.",
                        {f"{section.name}.{field}.{key}": entries[key]},
                    )
