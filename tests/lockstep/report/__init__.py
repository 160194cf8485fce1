"""Tests of the forms of the output."""
