"""Releases that can work and releases that cannot, as people write them: presets beneath a few lines of values."""
