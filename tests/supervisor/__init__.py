"""Tests of charts/serving/files/launch/supervisor.py."""
