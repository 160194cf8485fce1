"""Tests of the checks of Argo CD objects."""
