"""Lockstep: checks, rendering and rehearsal for the charts that serve one model on several GPU nodes."""

__version__ = "0.1.0"  # the build reads this line, and knows no annotations
