"""Tests of `lockstep check --live`."""
