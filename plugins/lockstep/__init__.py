"""Lockstep: checks, rendering and rehearsal for the charts that serve one model on several GPU nodes."""
