"""A pod beside a release that asks it for completions, as a client in the cluster does.

Neither the API server's proxy nor a port-forward will do: the NetworkPolicy shuts out the first, and the second dies
with the pod behind it. The pod is made from that of ``helm test``, which has all that the site needs: image, pull
secrets, tolerations, the API key, and the label that the NetworkPolicy lets in.
"""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "client"
KILL_ENGINE = Path(__file__).with_name("kill_engine.py")
# Takes the body of a request, and for how many seconds to wait for its answer.
ASK = """\
import os, sys, time, urllib.request
key = os.environ.get("LOCKSTEP_TEST_KEY")
headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
url = os.environ["LOCKSTEP_TEST_API"] + "/v1/completions"
request = urllib.request.Request(url, sys.argv[1].encode(), headers)
def ask():
    return urllib.request.urlopen(request, timeout=float(sys.argv[2])).read().decode()
"""
ONCE = f"{ASK}print(ask())"
# For so many seconds more: a group that is back after two of them is not missed, as by a kubectl for each question.
AGAIN = f"""{ASK}
end = time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    try:
        ask()
        print("answered", flush=True)
    except Exception as error:
        print(error, flush=True)
    time.sleep(0.05)
"""


def made_of(hooks: str) -> dict[str, Any]:
    """Make the pod from a release's hooks."""
    pod: dict[str, Any] = next(item for item in yaml.safe_load_all(hooks) if item and item["kind"] == "Pod")
    pod["metadata"] = {"name": NAME, "labels": pod["metadata"]["labels"]}
    pod["spec"]["containers"][0] |= {"command": ["sleep", "infinity"], "args": []}
    pod["spec"]["terminationGracePeriodSeconds"] = 0
    return pod


def outage(answers: Iterator[bool], began: float) -> tuple[float, float]:
    """Seconds from ``began`` until a question had no answer, and until one had again.

    Raises
    ------
    TimeoutError
        The questions came to an end before.
    """
    seconds = []
    for wanted in (False, True):
        if wanted not in answers:  # takes from an iterator up to the one that is found
            raise TimeoutError(f"answers never {'came again' if wanted else 'ended'}")
        seconds.append(time.monotonic() - began)
    lost, back = seconds
    return lost, back


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
        command = self.python(ONCE, model, tokens, patience)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        answer: dict[str, Any] | None = json.loads(done.stdout) if done.returncode == 0 else None
        return answer

    @contextmanager
    def asking(self, model: str, seconds: float, patience: float = 2) -> Iterator[Iterator[bool]]:
        """Ask again and again, for so many seconds at most; give whether there was an answer, as it comes."""
        command = [*self.python(AGAIN, model, 4, patience), str(seconds)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield (line == "answered\n" for line in process.stdout or ())
            finally:
                process.kill()

    def python(self, script: str, model: str, tokens: int, patience: float) -> list[str]:
        """Give the command that runs a script in the pod."""
        body = json.dumps({"model": model, "prompt": "Once upon a time", "max_tokens": tokens})
        return [*self.kubectl, "exec", NAME, "--", "python3", "-c", script, body, str(patience)]

    @staticmethod
    def run(*command: str, body: str | None = None) -> str:
        """Run a command that must not fail."""
        return subprocess.run(command, input=body, stdout=subprocess.PIPE, text=True, check=True).stdout
