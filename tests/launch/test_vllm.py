"""engines/vllm.sh builds the right command for each rank, version and layout."""

from __future__ import annotations

import pytest

from .conftest import SUPERVISED, Pod

SERVE = ["vllm", "serve", "meta-llama/Llama-3.1-405B", "--served-model-name", "llama"]
SUGGESTED = ["--disable-access-log-for-endpoints", "/health,/metrics", "--distributed-timeout-seconds", "5400"]
LAYOUT = ["--tensor-parallel-size", "8", "--pipeline-parallel-size", "2"]


def meeting(rank: int) -> list[str]:
    """Return the flags by which one of two ranks finds the other."""
    where = ["--master-addr", "127.0.0.2", "--master-port", "29501"]
    return ["--distributed-executor-backend", "mp", "--nnodes", "2", "--node-rank", str(rank), *where]


def environment(pod: Pod) -> dict[str, str]:
    """Return the environment that the started engine sees."""
    seen = pod.run().engine["environment"]
    assert isinstance(seen, dict)
    return seen


def test_leader(pod: Pod) -> None:
    """Rank 0 serves HTTP."""
    command = pod.set(**SUPERVISED).run("engine", "--max-model-len", "8192").command

    http = ["--host", "0.0.0.0", "--port", "8000"]
    assert [*SERVE, *SUGGESTED, "--max-model-len", "8192", *LAYOUT, *http, *meeting(0)] == command


def test_worker(worker: Pod) -> None:
    """Another rank runs the same command without HTTP."""
    command = worker.set(**SUPERVISED).run("engine", "--max-model-len", "8192").command

    assert [*SERVE, *SUGGESTED, "--max-model-len", "8192", *LAYOUT, "--headless", *meeting(1)] == command


def test_one_node(pod: Pod) -> None:
    """A group of one node has nobody to meet."""
    command = pod.set(**SUPERVISED, NODE_COUNT="1", PIPELINE="1").run("engine").command

    layout = ["--tensor-parallel-size", "8", "--pipeline-parallel-size", "1"]
    assert [*SERVE, *SUGGESTED, *layout, "--host", "0.0.0.0", "--port", "8000"] == command


def test_revision(pod: Pod) -> None:
    """A pinned revision reaches the engine."""
    command = pod.set(REVISION="a1b2c3").run("engine").command

    assert "a1b2c3" == command[command.index("--revision") + 1]


def test_context_parallel(pod: Pod) -> None:
    """Context parallelism that multiplies the ranks is the prefill one."""
    command = pod.set(CONTEXT="2", TENSOR="4").run("engine").command

    assert "2" == command[command.index("--prefill-context-parallel-size") + 1]


def test_user_overrides_a_suggestion(pod: Pod) -> None:
    """What Lockstep only suggests stands before the user's own value, and the last one counts."""
    command = pod.run("engine", "--distributed-timeout-seconds", "900").command
    values = [command[at + 1] for at, item in enumerate(command) if item == "--distributed-timeout-seconds"]

    assert ["5400", "900"] == values


@pytest.mark.parametrize(
    ("version", "present"),
    [
        ("0.11.1", set()),
        ("0.15.1", set()),
        ("0.16.0", {"--disable-access-log-for-endpoints"}),
        ("0.17.1", {"--disable-access-log-for-endpoints"}),
        ("0.18.0", {"--disable-access-log-for-endpoints", "--shutdown-timeout", "--distributed-timeout-seconds"}),
        ("0.33.0+cu129", {"--disable-access-log-for-endpoints", "--shutdown-timeout", "--distributed-timeout-seconds"}),
        ("1.0", {"--disable-access-log-for-endpoints", "--shutdown-timeout", "--distributed-timeout-seconds"}),
        ("unknown", set()),
    ],
)
def test_flags_of_a_version(pod: Pod, version: str, present: set[str]) -> None:
    """A flag is given only to a version that knows it: an unknown flag ends the engine."""
    command = pod.set(STUB_VERSION=version).run("engine").command
    gated = {"--disable-access-log-for-endpoints", "--shutdown-timeout", "--distributed-timeout-seconds"}

    assert present == gated & set(command)


@pytest.mark.parametrize("version", ["0.10.2", "0.11.0", "0.9"])
def test_too_old_for_two_nodes(pod: Pod, version: str) -> None:
    """A version without --nnodes is refused with the one to use."""
    ended = pod.set(STUB_VERSION=version).run()

    assert 64 == ended.code
    assert f"vLLM {version} cannot run this layout over 2 nodes" in ended.stderr
    assert "0.11.1" in ended.stderr
    assert "" == ended.stdout


def test_old_version_on_one_node(pod: Pod) -> None:
    """The same version is good for a group of one node."""
    assert 0 == pod.set(STUB_VERSION="0.10.2", NODE_COUNT="1", PIPELINE="1").run("engine").code


def test_version_among_other_lines(pod: Pod) -> None:
    """Log lines around the version are not taken for it."""
    noise = "INFO 11-29 [__init__.py:216] Automatically detected platform cuda.\n0.11.0\ntook 12.5 s"

    assert "vLLM 0.11.0 cannot run" in pod.set(STUB_VERSION=noise).run().stderr


def test_drain_without_a_supervisor(pod: Pod) -> None:
    """Only where no supervisor drains before TERM does the engine drain after it."""
    alone = pod.run("engine").command
    supervised = pod.set(**SUPERVISED).run("engine").command

    assert "120" == alone[alone.index("--shutdown-timeout") + 1]
    assert "--shutdown-timeout" not in supervised


def test_no_engine_in_the_image(pod: Pod) -> None:
    """An image without the engine is named as such, whatever is asked."""
    (pod.stubs / "vllm").unlink()

    for ended in (pod.run(), pod.run("facts")):
        assert 64 == ended.code
        assert "there is no 'vllm' in this image" in ended.stderr
        assert "" == ended.stdout


def test_version_from_the_metadata(pod: Pod) -> None:
    """Where the engine is installed as a package its version needs no slow start of it."""
    metadata = pod.stubs / "site" / "vllm-0.17.1+cu129.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.17.1+cu129\n")
    ended = pod.set(PYTHONPATH=str(metadata.parents[1])).run("facts")

    assert "ENGINE_VERSION=0.17.1" == ended.stdout.splitlines()[0]
    assert not (pod.stubs / "calls").exists()


def test_version_is_asked_once(pod: Pod) -> None:
    """The slow question is answered once in a container's life, and again only after hooks."""
    pod.set(**SUPERVISED)
    # The stub stands for the supervisor and for nothing else.
    pod.stub(
        "python3",
        "real=$(PATH=${PATH#*:} command -v python3)\n"
        '[[ $1 == */supervisor.py ]] || exec "$real" "$@"\n'
        'for step in facts engine facts hooks facts; do bash "${1%/*}/launch.sh" $step; done\n',
    )
    ended = pod.run()

    assert 0 == ended.code
    assert (pod.stubs / "calls").read_text() == "--version\n" * 2


def test_environment_of_the_engine(pod: Pod) -> None:
    """The engine's own timers follow the values."""
    seen = environment(pod.set(STALL_SECONDS="90"))

    assert "127.0.0.2" == seen["VLLM_HOST_IP"]
    assert "1" == seen["VLLM_NO_USAGE_STATS"]
    assert "5400" == seen["VLLM_ENGINE_READY_TIMEOUT_S"]
    assert "90" == seen["VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS"]


@pytest.mark.parametrize("name", ["VLLM_NO_USAGE_STATS", "VLLM_ENGINE_READY_TIMEOUT_S"])
def test_users_environment_stays(pod: Pod, name: str) -> None:
    """What the user set in engine.env is not overwritten."""
    assert "7" == environment(pod.set(**{name: "7"}))[name]


def test_execute_timeout_of_the_user(pod: Pod) -> None:
    """Nor is the engine's execute timeout."""
    seen = environment(pod.set(STALL_SECONDS="90", VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS="45"))

    assert "45" == seen["VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS"]


@pytest.mark.parametrize(("rank", "serves"), [("0", "true"), ("1", "false")], ids=["leader", "worker"])
def test_facts(pod: Pod, rank: str, serves: str) -> None:
    """The supervisor learns the version, who has HTTP, and what to watch."""
    facts = dict(line.split("=", 1) for line in pod.set(NODE_RANK=rank).run("facts").stdout.splitlines())

    assert facts == {
        "ENGINE_VERSION": "0.32.0",
        "SERVES_HTTP": serves,
        "HEALTH_PATH": "/health",
        "METRICS_PATH": "/metrics",
        "COMPLETION_PATH": "/v1/completions",
        "PROGRESS_METRIC": "vllm:iteration_tokens_total_count vllm:kv_cache_usage_perc",
        "KEY_VARIABLE": "VLLM_API_KEY",
        "RUNNING_METRIC": "vllm:num_requests_running",
        "WAITING_METRIC": "vllm:num_requests_waiting",
    }
