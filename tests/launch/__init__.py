"""Tests of the launch scripts, which mirror charts/serving/files/launch."""
