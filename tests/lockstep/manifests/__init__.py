"""Tests of `lockstep check --manifests`."""
