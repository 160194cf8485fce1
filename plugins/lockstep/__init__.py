"""Lockstep: checks, rendering and rehearsal for the charts that serve one model on several GPU nodes."""

from typing import Final

__version__: Final = "0.1.0"
