"""Tests of the rehearsal and of its stand-in engine."""
