"""Times that tests measure on real pods, shown as a table when the run ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

COLUMNS = ("lost", "answers", "ready")


class Times:
    """Seconds from a fault until answers ended, came again, and all pods were Ready."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, float]] = {}

    def __call__(self, fault: str, **seconds: float) -> None:
        """Keep a row."""
        self.rows[fault] = seconds

    def show(self, reporter: pytest.TerminalReporter) -> None:
        """Write the table, as the docs have it."""
        if not self.rows:
            return
        reporter.section("seconds from the fault")
        reporter.write_line(f"| fault | {' | '.join(COLUMNS)} |")
        for fault, seconds in self.rows.items():
            cells = (f"{seconds[column]:.1f}" if column in seconds else "" for column in COLUMNS)
            reporter.write_line(f"| {fault} | {' | '.join(cells)} |")
