"""Tests of the Python package."""
