"""A stand-in for the engines: their own commands, flags, rendezvous and protocol, without a model.

Standard library only, so that any Python in a pod can run it. Here is what all have in common: a core that makes each
token in a step of all ranks (``core.py``), the ranks (``worker.py``), HTTP (``api.py``, ``server.py``). What is an
engine's own is in its folder; ``behaviour.py`` there lists how it fails, also where that is unpleasant. Everything that
a test may want different is an environment variable (``settings.py``).
"""
