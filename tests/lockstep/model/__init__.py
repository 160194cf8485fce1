"""Tests of the model's shape."""
