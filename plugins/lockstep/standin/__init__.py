"""A stand-in for vLLM: the engine's own command, flags, rendezvous and protocol, without a model.

Standard library only, so that any Python in a pod can run it. It behaves as vLLM 0.32.0 on CPU was
measured to behave, also where that is unpleasant: ``behaviour.py`` has the list. Everything that a
test may want different is an environment variable (``settings.py``).
"""
