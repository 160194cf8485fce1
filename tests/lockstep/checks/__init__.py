"""Tests of single checks, where examples and the table of cases are too coarse."""
