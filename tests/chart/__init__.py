"""Tests of charts/serving."""
