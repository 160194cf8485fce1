"""Tests of the Argo CD tree."""
