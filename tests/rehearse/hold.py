"""Hold a kept rehearsal of two nodes until somebody ends it: ``python -m tests.rehearse.hold NETWORK``."""

from __future__ import annotations

import sys

from lockstep.rehearse.launcher import rehearse

from .builders import lws, plan

if __name__ == "__main__":
    report = rehearse(plan(lws(), keep=True), sys.argv[1])
    sys.stderr.write(f"{report.error}\n")
    sys.exit(report.exit_code)
