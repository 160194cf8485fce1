"""A kind cluster with GPUs on paper: see docs/kind.md."""
