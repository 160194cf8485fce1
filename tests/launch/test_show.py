"""The command that the log shows holds no secret, and else everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Pod

HIDDEN = "hunter2-correct-horse"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--api-key", HIDDEN],
        ["--api-key", "other", HIDDEN],
        [f"--api-key={HIDDEN}"],
        ["--hf-token", HIDDEN],
        ["--hf_token", HIDDEN],
        ["--ssl-keyfile-password", HIDDEN],
        ["--client-secret", HIDDEN],
        ["--kv-transfer-config", f'{{"extra": {{"password": "{HIDDEN}", "auth_token":"{HIDDEN}"}}}}'],
        ["--kv-transfer-config", f'{{"api-key" : "{HIDDEN}\\"{HIDDEN}"}}'],
    ],
    ids=["flag", "several", "equals", "token", "underscore", "password", "secret", "json", "quote"],
)
@pytest.mark.parametrize("rank", ["0", "1"], ids=["leader", "worker"])
def test_secret_is_masked(pod: Pod, rank: str, arguments: list[str]) -> None:
    """It reaches the engine and not the log."""
    ended = pod.set(NODE_RANK=rank).run("engine", *arguments)

    assert HIDDEN not in ended.stderr
    assert "***" in ended.stderr
    assert all(item in ended.command for item in arguments)


def test_secret_of_the_environment(pod: Pod) -> None:
    """The value of a variable with a secret's name is masked wherever it stands."""
    ended = pod.set(CACHE_PASSWORD=HIDDEN).run("engine", "--url", f"redis://:{HIDDEN}@cache")

    assert "--url 'redis://:***@cache'" in ended.stderr
    assert f"redis://:{HIDDEN}@cache" in ended.command


def test_rest_is_shown(pod: Pod) -> None:
    """Flags that only sound like secrets are shown, quoted so that the line can be pasted."""
    ended = pod.run("engine", "--max-num-batched-tokens", "8192", "--tokenizer", "a b", "--api-key", "x", "--seed", "1")

    assert "--max-num-batched-tokens 8192 --tokenizer 'a b' --api-key '***' --seed 1" in ended.stderr
