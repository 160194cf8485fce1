"""Tests of lockstep diff."""
