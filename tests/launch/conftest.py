"""Launch scripts in a pod of one process: a contract, a folder of stubs first on PATH, and a way to run them."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

LAUNCH = Path(__file__).parents[2] / "charts" / "serving" / "files" / "launch"

# What the chart sets for rank 0 of TP8 x PP2 on two nodes.
CONTRACT = {
    "ENGINE": "vllm",
    "NODE_RANK": "0",
    "NODE_COUNT": "2",
    "LEADER_ADDRESS": "llama-0.llama.models",
    "GROUP": "models/llama-0",
    "POD_IP": "127.0.0.2",
    "POD_NAME": "llama-0",
    "POD_UID": "8f0f2c9e",
    "GPUS_PER_NODE": "8",
    "TENSOR": "8",
    "PIPELINE": "2",
    "DATA": "1",
    "CONTEXT": "1",
    "MODEL": "meta-llama/Llama-3.1-405B",
    "SERVED_NAME": "llama",
    "PORT": "8000",
    "MASTER_PORT": "29501",
    "STATUS_PORT": "7070",
    "MEMBERSHIP_PORT": "7071",
    "STARTUP_SECONDS": "5400",
    "DRAIN_SECONDS": "120",
    "PROPAGATION_SECONDS": "10",
    "SUPERVISOR": "false",
}
# Added where the supervisor is on.
SUPERVISED = {
    "SUPERVISOR": "true",
    "HEARTBEAT_SECONDS": "1",
    "DEADLINE_SECONDS": "10",
    "MAX_RESTARTS": "5",
    "STABLE_SECONDS": "600",
    "STALL_SECONDS": "120",
}

# An engine that says its version when asked, and else prints what it was given as one line of JSON.
ENGINE = """\
import json, os, sys
with open(os.environ["STUBS"] + "/calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:2]) + "\\n")
if sys.argv[1:] in (["--version"], ["version"]):
    print(os.environ.get("STUB_VERSION", "0.32.0"))
else:
    print(json.dumps({"argv": sys.argv[1:], "pid": os.getpid(), "environment": dict(os.environ)}))
"""
# A name service that knows one name, after as many misses as it is told.
GETENT = """\
echo "$@" >>"$STUBS/lookups"
(($(wc -l <"$STUBS/lookups") > ${STUB_MISSES:-0})) || exit 2
echo "${STUB_ADDRESS:-127.0.0.2}  STREAM $2"
"""


@dataclass
class Ended:
    """What one run of launch.sh left: exit code, output, and the report of the engine when it was started."""

    code: int
    stdout: str
    stderr: str

    @property
    def command(self) -> list[str]:
        """The NUL-separated command that ``launch.sh engine`` prints."""
        return self.stdout.split("\0")[:-1]

    @property
    def engine(self) -> dict[str, object]:
        """The stub engine's report: argv, pid, environment."""
        report = json.loads(self.stdout)
        assert isinstance(report, dict)
        return report


@dataclass
class Pod:
    """One container: its launch folder, its stubs, its environment."""

    launch: Path
    stubs: Path
    environment: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()

    def set(self, **variables: str | None) -> Pod:
        """Set variables, contract ones by their short name in capitals; None removes one."""
        for name, value in variables.items():
            full = f"LOCKSTEP_{name}" if name in CONTRACT or name in SUPERVISED or name in OPTIONAL else name
            if value is None:
                self.environment.pop(full, None)
            else:
                self.environment[full] = value
        return self

    def stub(self, name: str, body: str, interpreter: str = "/bin/bash") -> Path:
        """Put a command first on PATH."""
        path = self.stubs / name
        path.write_text(f"#!{interpreter}\n{body}")
        path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        return path

    def command(self, *arguments: str) -> list[str]:
        """Return the command of the container."""
        return ["bash", str(self.launch / "launch.sh"), *arguments]

    def run(self, *arguments: str, timeout: float = 30) -> Ended:
        """Run launch.sh to its end."""
        done = subprocess.run(
            self.command(*arguments),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)


OPTIONAL = {"REVISION", "INTERFACE", "GROUP_TOKEN", "BIND", "PRELAUNCH", "EXECUTOR", "EXPERT", "LOAD_BALANCING"} | {
    "SSH_KEY",
    "SSH_PORT",
}


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    """Return a leader of two nodes with a stub engine, a stub name service and the real launch files."""
    stubs, temporary = tmp_path / "stubs", tmp_path / "tmp"
    stubs.mkdir()
    temporary.mkdir()
    launch = tmp_path / "launch"
    shutil.copytree(LAUNCH, launch, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    (launch / "supervisor.py").touch()
    here = Path(sys.executable).parent
    built = Pod(
        launch,
        stubs,
        {
            "PATH": f"{stubs}:{here}:{os.defpath}",
            "TMPDIR": str(temporary),
            "STUBS": str(stubs),
            "LANG": "C.UTF-8",
            **{f"LOCKSTEP_{name}": value for name, value in CONTRACT.items()},
        },
    )
    built.stub("vllm", ENGINE, sys.executable)
    built.stub("getent", GETENT)
    built.stub("sleep", "exec /bin/sleep 0.05")
    return built


@pytest.fixture
def worker(pod: Pod) -> Pod:
    """Return rank 1 of the same group."""
    return pod.set(NODE_RANK="1", POD_NAME="llama-0-1", POD_IP="127.0.0.3")


@pytest.fixture
def networks() -> Iterator[list[tuple[str, ...]]]:
    """Return the beginnings of commands that enter the networks of two nodes, 10.77.0.2 and 10.77.0.3."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and the ip command (iproute2) to make network namespaces")
    names = [f"launch-{os.getpid()}-{rank}" for rank in range(2)]
    inside: list[tuple[str, ...]] = [("ip", "netns", "exec", name) for name in names]
    try:
        for name in names:
            if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
                pytest.skip("needs the right to make network namespaces")
        pair = f"link add eth0 netns {names[0]} type veth peer name eth0 netns {names[1]}"
        subprocess.run(["ip", *pair.split()], check=True)
        for rank, enter in enumerate(inside):
            for step in (f"addr add 10.77.0.{rank + 2}/24 dev eth0", "link set eth0 up", "link set lo up"):
                subprocess.run([*enter, "ip", *step.split()], check=True)
        yield inside
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
