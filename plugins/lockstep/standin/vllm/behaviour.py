"""How long the real engine takes to do wrong or end: measured on vLLM 0.32.0, CPU, mp executor, two nodes.

All are seconds at scale 1; ``Settings.scale`` shortens them for tests. What the stand-in reproduces:

- A lost worker changes nothing that can be asked: ``/health`` and ``/metrics`` stay 200, the master
  port stays open, ``vllm:num_requests_running`` stands still (at 0 when nothing ran). Requests hang.
- A hung step ends after ``VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS`` (300 unless set; never scaled, it is a
  setting of the user), with 500 for the requests, 503 on ``/health``, then the end of the process.
- A worker whose leader died never ends by itself, logs nothing when idle, and needs long for TERM.
- A worker that dies takes the headless parent on its own node with it at once.
- TERM while the worker processes start is lost. Before that it ends the process by the signal.
- TERM with ``--shutdown-timeout 0``: the listener closes, open streams neither go on nor end, the
  process stays until their clients leave. With a timeout: ``/health`` stays 200, new requests get 500,
  running ones go on; those that do not fit into the timeout hang as above.
- Either order of start works; a rank that comes to a complete group waits without a word.
- Ranks whose flags differ form a group that never becomes ready, also without a word.
"""

from __future__ import annotations

# TERM to an idle leader, until it has ended.
IDLE_STOP = 1.5
# TERM to the parent of an orphaned worker, until it has ended (18.4, two of two).
ORPHAN_STOP = 18.4
# After the engine died: how long /health says 503 before the listener closes (6 and 0.1 were seen).
DEAD_HEALTH = 6.0
# Then until the process has ended (22 s after a cut of 20 s: about 2).
DEAD_EXIT = 2.0
# From the last token of a drained stream until the process has ended (5.5 to 19.3).
DRAINED_EXIT = 13.8
# The part of a start in which TERM is lost.
TERM_LOST = 4.0
# VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS, --distributed-timeout-seconds when not given.
STEP_TIMEOUT = 300.0
RENDEZVOUS_TIMEOUT = 600.0
