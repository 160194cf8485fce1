"""Commands are found in shell scripts as a shell would run them, and no text ends in a traceback."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.manifests.command import engines, ray
from lockstep.manifests.script import commands

KNOWN = {"LWS_GROUP_SIZE": "4", "LOCAL": "2", "MORE": "--a 1 --b"}


@pytest.mark.parametrize(
    ("expected", "script"),
    [
        pytest.param(["a", "b c", "d"], "a 'b c' \"d\"", id="quotes"),
        pytest.param(["a", "b", "c"], "a \\\n  b \\\n  c", id="continued lines"),
        pytest.param(["a", "8"], "a $((LWS_GROUP_SIZE * LOCAL))", id="sum of variables"),
        pytest.param(["a", "3"], "a $(( ${LWS_GROUP_SIZE:-1} - 1 ))", id="sum with a default"),
        pytest.param(["a", "$?"], "a $(hostname -I | awk '{print $1}')", id="substitution"),
        pytest.param(["a", "$?"], "a $(one $(two))", id="substitution in a substitution"),
        pytest.param(["a", "$?"], "a $((1 / 0))", id="division by zero"),
        pytest.param(["a", "2", "$NONE", "x"], "a $LOCAL $NONE ${NONE:-x}", id="variables"),
        pytest.param(["a", "--a", "1", "--b"], "a $MORE", id="flags in a variable"),
        pytest.param(["a", "5"], "N=5\nexport M=$N; a $M", id="assignments"),
        pytest.param(["a", "b", "c"], 'ARGS=(a\n "b")\nARGS+=(c)\n"${ARGS[@]}"', id="array"),
        pytest.param(["a", "b"], "# don't\na b  # or do\n", id="comments"),
        pytest.param(["a", "b"], "a b > /tmp/log 2>&1 &", id="redirections"),
        pytest.param(["a"], "if true; then a; fi", id="branch"),
        pytest.param(["a", "b"], "bash -c \"exec sh -ec 'a b'\"", id="shells in shells"),
        pytest.param(["a", "b"], "/scripts/start.sh", id="a script of a ConfigMap"),
    ],
)
def test_a_command_is_found(expected: list[str], script: str) -> None:
    """The words of one command of the script."""
    found = list(commands(["sh", "-c", script], KNOWN, {"start.sh": "a b"}))

    assert expected in found


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        pytest.param(
            ("vllm", "m", 16), ["exec", "vllm", "serve", "m", "-tp", "8", "--pipeline_parallel_size=2"], id="vllm"
        ),
        pytest.param(("vllm", "m", 8), ["/usr/bin/vllm", "serve", "--model", "m", "-tp8"], id="short with its value"),
        pytest.param(("vllm", "m", 4), ["vllm", "serve", "m", "--tensor-parallel", "4"], id="unfinished"),
        pytest.param(
            ("vllm", "m", 2),
            ["python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "m", "-dp", "2"],
            id="vllm as a module",
        ),
        pytest.param(
            ("sglang", "m", 16),
            ["sglang", "serve", "--model", "m", "--tp", "16", "--dp", "4", "--enable-dp-attention"],
            id="attention data parallel is inside tensor",
        ),
        pytest.param(
            ("sglang", "m", 8),
            ["python", "-m", "sglang.launch_server", "--model-path", "m", "--tp=4", "--dp-size", "2"],
            id="engines of one pod multiply",
        ),
        pytest.param(
            ("trtllm", "m", 16),
            ["mpirun", "-n", "16", "trtllm-llmapi-launch", "trtllm-serve", "m", "--tp_size", "8", "--pp_size", "2"],
            id="trtllm under mpirun",
        ),
        pytest.param(
            ("trtllm", "m", 8), ["trtllm-serve", "serve", "m", "--tp_size=8"], id="trtllm with its subcommand"
        ),
        pytest.param(("vllm", "m", None), ["vllm", "serve", "m", "-tp", "$N"], id="a number that is not known"),
    ],
)
def test_an_engine_is_told(expected: tuple[str, str, int | None], words: list[str]) -> None:
    """Name, model and number of ranks."""
    (engine,) = engines([words])

    assert expected == (engine.name, engine.text("model"), engine.ranks)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        pytest.param(True, ["ray", "start", "--head", "--port=6379"], id="head"),
        pytest.param(False, ["ray", "start", "--address=$L:6379", "--block"], id="worker"),
        pytest.param(
            True, ["bash", "/vllm-workspace/examples/ray_serving/multi-node-serving.sh", "leader"], id="helper"
        ),
    ],
)
def test_a_ray_node_is_found(head: bool, words: list[str]) -> None:
    """Also through vLLM's helper script."""
    found = ray([words])

    assert found is not None
    assert head == found.head


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab $(){}[]'\"`\\\n;&|=+*/<>#-1", max_size=60))
def test_any_text_has_commands(text: str) -> None:
    """No script ends in a traceback or without an end."""
    assert engines(list(commands(["bash", "-c", text + " vllm serve m"], KNOWN, {"a": text}))) is not None
