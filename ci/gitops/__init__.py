"""Argo CD in a simulated cluster or in one with real pods: push to it, ask it, end parts of it."""
