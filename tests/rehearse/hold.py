"""Hold a kept rehearsal of two nodes until somebody ends it: ``python -m tests.rehearse.hold NETWORK [stubborn]``.

Stubborn pods do not hear TERM, and have a minute for it.
"""

from __future__ import annotations

import sys

from lockstep.rehearse.launcher import rehearse

from .builders import container, lws, plan, pod_template

if __name__ == "__main__":
    deaf = container(command=["bash", "-c", "trap '' TERM; while :; do sleep 1; done"])
    leader = pod_template(deaf, terminationGracePeriodSeconds=60) if sys.argv[2:] else None
    report = rehearse(plan(lws(leader=leader), keep=True), sys.argv[1])
    sys.stderr.write(f"{report.error}\n")
    sys.exit(report.exit_code)
