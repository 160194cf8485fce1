"""The engine tier: the rehearsals and the stand-in's transcript with real vLLM on CPU (``make engine-cpu``)."""
