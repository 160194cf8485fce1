"""Tests of the memory arithmetic."""
