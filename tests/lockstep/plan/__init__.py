"""Tests of the pictures of a layout."""
