"""What the user says of the engine: image, arguments and environment reach the container as they were meant."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .rendering import FIVE_LINES, Object, refusal, render, text, values


def kubelet(argument: str) -> str:
    """Expand an argument as kubelet does where no variable matches: $$ is a dollar sign."""
    return argument.replace("$$", "$")


def args(given: Object) -> list[str]:
    """Render engine.args and return what the launch script receives."""
    return [kubelet(item) for item in render(values({"engine": {"args": given}})).engine().get("args", [])]


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        pytest.param(["--enforce-eager"], {"enforce-eager": True}, id="true"),
        pytest.param(["--no-enable-prefix-caching"], {"enable-prefix-caching": False}, id="false"),
        pytest.param(["--no-enable-prefix-caching"], {"--enable_prefix_caching": False}, id="false-with-dashes"),
        pytest.param(["--max-model-len", "999999"], {"max-model-len": 999999}, id="below-a-million"),
        pytest.param(["--max-model-len", "1048576"], {"max-model-len": 1048576}, id="above-a-million"),
        pytest.param(["--max-model-len", "10000000"], {"max-model-len": "10000000"}, id="digits"),
        pytest.param(["--gpu-memory-utilization", "0.92"], {"gpu-memory-utilization": 0.92}, id="fraction"),
        pytest.param(["--seed", "0"], {"seed": 0}, id="zero"),
        pytest.param(["--chat-template", ""], {"chat-template": ""}, id="empty"),
        pytest.param(["--lora-modules", "a=b", "7"], {"lora-modules": ["a=b", 7]}, id="list"),
        pytest.param(["-cc.mode", "2"], {"-cc.mode": 2}, id="own-dash"),
        pytest.param(["--a", "1", "--b", "2"], {"b": 2, "a": 1}, id="sorted"),
        pytest.param([], {"a": None}, id="null"),
    ],
)
def test_each_kind_of_value_has_its_spelling(expected: list[str], given: Object) -> None:
    """Numbers stay digits, booleans become flags, lists several arguments."""
    assert expected == args(given)


@pytest.mark.parametrize("engine", [{"name": "sglang"}, {"name": "trtllm", "sshSecret": {"name": "ssh"}}], ids=str)
def test_false_is_no_flag_where_flags_have_no_negation(engine: Object) -> None:
    """An argument --no-x would end the start."""
    given = {"args": {"trust_remote_code": False, "log_level": "info"}}

    assert ["--log_level", "info"] == render(values({"engine": engine | given})).engine()["args"]


GAUDI: Object = {
    "engine": {"version": "0.26.0", "image": {"repository": "example.com/vllm-gaudi"}},
    "group": {"resourceName": "habana.ai/gaudi"},
    "hooks": {"preLaunch": [{"name": "patch", "command": ["python3", "/patch.py"]}]},
}


@pytest.mark.parametrize(
    ("expected", "changes"),
    [
        pytest.param(["--no-async-scheduling"], {}, id="pipeline"),
        pytest.param([], {"parallelism": {"tensor": 16, "pipeline": 1}}, id="tensor"),
        pytest.param(["--async-scheduling"], {"engine": {"args": {"async-scheduling": True}}}, id="the-user-wins"),
    ],
)
def test_an_accelerator_brings_what_pipeline_parallelism_needs(expected: list[str], changes: Object) -> None:
    """Asynchronous scheduling does not know stages on Gaudi."""
    assert expected == render(values(GAUDI, changes)).engine().get("args", [])


HOSTILE = ['{"method":"mtp","n":2}', "a b", "it's", '"q"', "$HOME", "$(id)", "$$", "\\", "`", "a\nb", "日本語", "*", ""]


@pytest.mark.parametrize("item", HOSTILE, ids=range(len(HOSTILE)))
def test_text_arrives_unchanged(item: str) -> None:
    """No shell, no YAML and no kubelet may read it."""
    assert ["--x", item] == args({"x": item})
    assert ["--x", item, item] == args({"x": [item, item]})


def test_a_map_stays_json() -> None:
    """With numbers in digits and nothing escaped twice."""
    given = {"method": "mtp", "tokens": 1048576, "deep": {"on": True, "off": None, "list": [1, "<&>"]}}
    flag, value = args({"speculative-config": given})

    assert "--speculative-config" == flag
    assert given == json.loads(value)
    assert "1048576" in value
    assert " " not in value


@pytest.mark.parametrize("flag", ["--set", "--set-json", "--set-string"])
def test_a_large_number_from_the_command_line_is_the_same(flag: str) -> None:
    """--set gives an integer where a file gives a double; both must come out alike."""
    assert '"1048576"' in text(FIVE_LINES, flags=(flag, "engine.args.max-model-len=1048576"))


@pytest.mark.parametrize(
    ("expected", "given"),
    [("8", 8), ("8", "8"), ("true", True), ("true", "true"), ("1000", 1e3), ("", ""), ("0", 0), ("false", False)],
    ids=repr,
)
def test_values_of_variables_are_text(expected: str, given: object) -> None:
    """The API server refuses a number in env."""
    assert expected == render(values({"engine": {"env": {"X": given}}})).env()["X"]


def test_a_variable_keeps_its_source_and_its_references() -> None:
    """A valueFrom passes unchanged, and $(NAME) is for kubelet to expand."""
    source = {"secretKeyRef": {"name": "keys", "key": "vllm"}}
    env = render(values({"engine": {"env": {"A": {"valueFrom": source}, "B": "$(LOCKSTEP_POD_IP)"}}})).env()

    assert (source, "$(LOCKSTEP_POD_IP)") == (env["A"], env["B"])


def test_the_user_wins_over_the_fabric_and_the_fabric_over_the_chart() -> None:
    """Each name appears once, with the value of the highest layer; null takes a default away."""
    rendered = render(
        values(
            {
                "network": {"env": {"NCCL_DEBUG": "WARN", "HF_HOME": "/a", "UCX_TLS": "tcp"}},
                "engine": {"env": {"NCCL_DEBUG": "INFO", "XDG_CACHE_HOME": None}},
            }
        )
    )
    env = rendered.env()

    assert ("INFO", "/a", "tcp") == (env["NCCL_DEBUG"], env["HF_HOME"], env["UCX_TLS"])
    assert "XDG_CACHE_HOME" not in env
    assert len(env) == len(rendered.engine()["env"])


DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("expected", "engine"),
    [
        pytest.param("vllm/vllm-openai:v0.33.0", {}, id="default"),
        pytest.param("vllm/vllm-openai:v0.32.0", {"version": "0.32.0"}, id="version"),
        pytest.param("lmsysorg/sglang:v0.5.23", {"name": "sglang"}, id="sglang"),
        pytest.param(
            "nvcr.io/nvidia/tensorrt-llm/release:1.2.1", {"name": "trtllm", "sshSecret": {"name": "ssh"}}, id="trtllm"
        ),
        pytest.param(
            "example.com:5000/v:mine", {"image": {"repository": "example.com:5000/v", "tag": "mine"}}, id="tag"
        ),
        pytest.param(f"vllm/vllm-openai@{DIGEST}", {"image": {"tag": "mine", "digest": DIGEST}}, id="digest"),
    ],
)
def test_the_image(expected: str, engine: Object) -> None:
    """The version decides the tag unless a tag or a digest is given."""
    assert expected == render(values({"engine": engine})).engine()["image"]


def test_the_image_follows_the_accelerator() -> None:
    """Where the engine has another one for it."""
    rendered = render(values({"group": {"resourceName": "amd.com/gpu"}}))

    assert "vllm/vllm-openai-rocm:v0.33.0" == rendered.engine()["image"]


SPELLINGS = ["--tensor-parallel-size", "-tp", "tp", "tensor_parallel_size", "--tensor_parallel_size", "tensor-parallel"]


@pytest.mark.parametrize("key", [*SPELLINGS, "--tensor-parallel-size=2", "-tp=2"])
def test_a_derived_flag_is_refused_in_every_spelling(key: str) -> None:
    """The message names the flag as given and the key that says it."""
    message = refusal(values({"engine": {"args": {key: 2}}}))

    assert f"ENG001 engine.args.{key} sets --tensor-parallel-size" in message
    assert "use parallelism.tensor" in message


@pytest.mark.parametrize("key", ["tensor", "max-model-len", "-cc", "no-enable-prefix-caching", "t", "portal"])
def test_a_neighbour_of_a_derived_flag_is_accepted(key: str) -> None:
    """Only what argparse would take for the derived flag is refused."""
    expected = {"tensor": False}.get(key, True)
    changes: dict[str, Any] = values({"engine": {"args": {key: 1}}})
    if expected:
        render(changes)
    else:
        assert "ENG001" in refusal(changes)


def test_one_flag_in_two_spellings_is_refused() -> None:
    """A preset and a user who spell it differently would both be passed on."""
    message = refusal(values({"engine": {"args": {"max-model-len": 1, "max_model_len": 2}}}))

    assert "ENG004 engine.args.max_model_len and engine.args.max-model-len are one flag" in message


def test_a_key_that_yaml_reads_as_a_boolean_is_refused() -> None:
    """A bare `n:` is the key false to YAML 1.1, and would end up as the flag --false."""
    assert "at '/engine/args/false'" in refusal(values({"engine": {"args": {"false": 2}}}))
