"""How the real TensorRT-LLM fails and ends, by its sources and public issues.

What the stand-in reproduces:

- The HTTP port is bound before the model is loaded, and answers afterwards.
- A rank that ends without a word ends the whole MPI job: that is mpirun's doing, and real here.
- A step that hangs is noticed after five minutes; the server may then stay for ever and answer 503 (#18663).
- TERM: the listener closes, open requests are finished, the server ends.
"""

from __future__ import annotations

# HangDetector (#15612).
HANG = 300.0
# Until all ranks have come to the server (#17578).
RENDEZVOUS_TIMEOUT = 1800.0
