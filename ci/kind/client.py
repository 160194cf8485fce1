"""A pod beside a release that asks it for completions, as a client in the cluster does.

Neither the API server's proxy nor a port-forward will do: the NetworkPolicy shuts out the first, and the second dies
with the pod behind it. The pod is made from that of ``helm test``, which has all that the site needs: image, pull
secrets, tolerations, the API key, and the label that the NetworkPolicy lets in.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

NAME = "client"
KILL_ENGINE = Path(__file__).with_name("kill_engine.py")
ASK = """\
import os, sys, urllib.request
key = os.environ.get("LOCKSTEP_TEST_KEY")
headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
url = os.environ["LOCKSTEP_TEST_API"] + "/v1/completions"
request = urllib.request.Request(url, sys.argv[1].encode(), headers)
print(urllib.request.urlopen(request, timeout=float(sys.argv[2])).read().decode())
"""


def made_of(hooks: str) -> dict[str, Any]:
    """Make the pod from a release's hooks."""
    pod: dict[str, Any] = next(item for item in yaml.safe_load_all(hooks) if item and item["kind"] == "Pod")
    pod["metadata"] = {"name": NAME, "labels": pod["metadata"]["labels"]}
    pod["spec"]["containers"][0] |= {"command": ["sleep", "infinity"], "args": []}
    pod["spec"]["terminationGracePeriodSeconds"] = 0
    return pod


@dataclass(frozen=True)
class Client:
    """The pod, by what goes before every command.

    Attributes
    ----------
    kubectl, helm
        The programs with the options that name the cluster and the namespace.
    """

    kubectl: tuple[str, ...]
    helm: tuple[str, ...]

    def start(self, release: str) -> None:
        """Make the pod and wait until it runs."""
        pod = made_of(self.run(*self.helm, "get", "hooks", release))
        self.run(*self.kubectl, "apply", "--filename", "-", body=json.dumps(pod))
        self.run(*self.kubectl, "wait", "--for=condition=Ready", f"pod/{NAME}", "--timeout=300s")

    def ask(self, model: str, tokens: int, patience: float) -> dict[str, Any] | None:
        """Ask for a completion; None when there is none within so many seconds."""
        body = json.dumps({"model": model, "prompt": "Once upon a time", "max_tokens": tokens})
        command = [*self.kubectl, "exec", NAME, "--", "python3", "-c", ASK, body, str(patience)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        answer: dict[str, Any] | None = json.loads(done.stdout) if done.returncode == 0 else None
        return answer

    @staticmethod
    def run(*command: str, body: str | None = None) -> str:
        """Run a command that must not fail."""
        return subprocess.run(command, input=body, stdout=subprocess.PIPE, text=True, check=True).stdout
