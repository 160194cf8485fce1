"""Tests of the scripts in ci."""
