"""A real Kubernetes control plane on this machine, over simulated GPU nodes and without containers.

``python -m ci.sim up`` from the root of the repository; docs/simulated-cluster.md says what is real in it.
"""
