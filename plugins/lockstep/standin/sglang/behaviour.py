"""How the real SGLang fails and ends, by its sources (0.5.23); seconds at scale 1.

What the stand-in reproduces:

- A worker node answers 200 to ``/health``, whatever happens, from the moment when its ranks have loaded.
- The leader's ``/health`` is 503 until its warm-up is done, then runs a request of its own, which takes a second when
  all is well; without an answer it is 503 after 20 s (``SGLANG_HEALTH_CHECK_TIMEOUT``). With
  ``SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION=0`` it tells the state alone, and sees no lost worker.
- A step that hangs ends the leader after ``--watchdog-timeout``, by SIGKILL to itself.
- TERM on the leader: 503, the requests that run are finished without a bound, then it ends.
- TERM on a worker is ignored from 0.5.23 on: rank 0 ends it. Older ones end at once.
- A worker whose leader was killed stays.
"""

from __future__ import annotations

# Between two looks at the answer of the health request (entrypoints/http_server.py).
HEALTH_LOOK = 1.0
HEALTH_TIMEOUT = 20.0
# --watchdog-timeout when not given.
WATCHDOG = 300.0
# --dist-timeout when not given: that of torch.distributed with NCCL.
RENDEZVOUS_TIMEOUT = 600.0
# Between two looks of a leader that was told to end at what still runs (managers/tokenizer_manager.py).
DRAIN_LOOK = 5.0
