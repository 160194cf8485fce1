"""Tests through a real Argo CD: what a commit becomes, and what Argo CD says of it."""
