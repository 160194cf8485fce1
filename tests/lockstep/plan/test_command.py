"""Proves that `lockstep plan` shows what it should in a terminal and in a page, and says what it cannot."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from lockstep import share
from lockstep.cli import main
from lockstep.inputs import Input
from lockstep.plan.source import pictures
from lockstep.release import build

if TYPE_CHECKING:
    from pathlib import Path

    from lockstep.plan.picture import Picture

R1 = """
model: {id: deepseek-ai/DeepSeek-R1}
engine: {name: vllm}
stack: {name: lws}
group: {nodes: 2, gpusPerNode: 8}
"""
ONE_NODE = R1.replace("lws", "deployment").replace("nodes: 2", "nodes: 1")


def plan(capsys: pytest.CaptureFixture[str], folder: Path, text: str, *words: str) -> tuple[int, str]:
    """Run the command on a values file; returns exit code and all that it printed."""
    file = folder / "release.yaml"
    file.write_text(text, encoding="utf-8")
    code = main(["plan", str(file), *words])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def picture(folder: Path, text: str, accelerator: str | None = "h100-80gb") -> Picture:
    """Return the picture of a release."""
    file = folder / "release.yaml"
    file.write_text(text, encoding="utf-8")
    given = Input(file, (), share.folder("charts") / "serving", "release", "default")
    return pictures(build(given, given.values()), [], accelerator)[0]


def test_terminal_shows_nodes_layers_and_memory(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The ranks and layers of each node, and the weights of each stage."""
    code, text = plan(capsys, tmp_path, R1, "-f", "accelerators/h100-8")

    assert code == 0
    assert "tensor 8 x pipeline 2  fits" in text
    assert "1     8-15   1      31-60" in text
    assert "38.4" in text
    assert "40.9" in text


def test_layouts_are_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Tensor over two nodes sends hundreds of times the bytes for each token."""
    code, text = plan(capsys, tmp_path, R1, "--accelerator", "h100-80gb", "--compare", "16x1", "--compare", "8x2")
    traffic = next(line for line in text.splitlines() if line.startswith("between nodes for each token"))

    assert code == 0
    assert ["28.0", "KiB", "6.3", "MiB"] == traffic.split()[-4:]


def test_what_does_not_fit_is_drawn_with_what_would(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The picture of a fault is a picture, too."""
    code, text = plan(capsys, tmp_path, ONE_NODE, "--accelerator", "h100-80gb")

    assert code == 0
    assert "does not fit" in text
    assert "enough: parallelism.pipeline: 2 over 16 GPUs" in text


REFUSED = {
    "more GPUs than the group has": (R1 + "parallelism: {tensor: 8, pipeline: 3}\n", [], "PAR001"),
    "heads that cannot be dealt": (R1 + "parallelism: {tensor: 16, pipeline: 1}\n", ["--compare", "7x1"], "PAR002"),
    "GPUs of no known model": (
        R1.replace("deepseek-ai/DeepSeek-R1", "example/our-own") + "parallelism: {tensor: 4}\n",
        [],
        "PAR001",
    ),
}


@pytest.mark.parametrize(("text", "words", "code"), REFUSED.values(), ids=REFUSED)
def test_a_layout_that_cannot_start_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, words: list[str], code: str
) -> None:
    """It is drawn all the same, with the finding of `lockstep check` above it and in the table, and on the page."""
    file = tmp_path / "plan.html"
    words = ["--accelerator", "h200", *words]
    _, shown = plan(capsys, tmp_path, text, *words)
    plan(capsys, tmp_path, text, *words, "--html", str(file))
    row = next(line.split() for line in shown.splitlines() if line.startswith("refused "))

    assert f"refused: {code} " in shown
    assert code in " ".join(row)
    assert f"refused: {code} " in file.read_text(encoding="utf-8")


def test_terms_add_up_to_the_accelerator(tmp_path: Path) -> None:
    """Every byte of a GPU that is not over-full belongs to one term."""
    found = picture(tmp_path, R1)

    for stage in found.stages:
        assert pytest.approx(found.memory) == sum(term.bytes for term in stage.terms)


def test_terms_of_a_full_gpu_go_beyond_it(tmp_path: Path) -> None:
    """What is missing can be seen."""
    found = picture(tmp_path, ONE_NODE)
    (stage,) = found.stages

    assert sum(term.bytes for term in stage.terms) > found.memory
    assert "cache, one full sequence" == stage.terms[-1].name


MISSING = {
    "accelerator": (R1, "no node selector names an accelerator"),
    "model": (R1.replace("deepseek-ai/DeepSeek-R1", "example/our-own"), "example/our-own is not known"),
    "config": (R1.replace("R1}", "R1, config: no.json}"), "no.json: cannot be read"),
    "predictable memory": (
        R1.replace("vllm}", "vllm, args: {cpu-offload-gb: 5}}\npod: {nodeSelector: {a: NVIDIA-H200}}"),
        "engine.args or the quantisation change weights",
    ),
}


@pytest.mark.parametrize(("text", "note"), MISSING.values(), ids=MISSING)
def test_what_is_missing_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, note: str) -> None:
    """Nodes and ranks are shown all the same."""
    code, printed = plan(capsys, tmp_path, text)

    assert code == 0
    assert note.replace(" ", "") in "".join(printed.split())
    assert "8-15" in printed


WRONG = {
    "layout": (
        ["--compare", "8"],
        "8 is no layout; write tensor x pipeline, like 8x2, or with data parallel, like 8x1x2",
    ),
    "nodes": (["--compare", "6x2"], "tensor 6 x pipeline 2 = 12 GPUs do not fill nodes of 8"),
    "stages": (["--compare", "8x100"], "pipeline 100 is more than the 61 layers of deepseek-ai/DeepSeek-R1"),
    "accelerator": (["--accelerator", "h900"], "there is no accelerator h900; known are a100-80gb"),
    "folder": (["--html", "/no/such/plan.html"], "/no/such/plan.html: cannot be written (there is no folder /no/such)"),
}


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_wrong_use_is_one_message(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], message: str
) -> None:
    """Exit code 2 and one line."""
    code, text = plan(capsys, tmp_path, R1, *words)

    assert code == 2
    assert message in text


def test_values_that_do_not_fit_the_schema_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """No picture of values that are not what they seem."""
    code, text = plan(capsys, tmp_path, R1 + "grup: {}\n")

    assert code == 1
    assert "grup" in text


class Outline(HTMLParser):
    """Collects what a page loads, and whether its elements are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.open: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element and its links."""
        self.loaded += [str(value) for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close an element."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self.words += data


def test_page_stands_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One well-formed file that loads nothing and follows light and dark."""
    file = tmp_path / "plan.html"
    code, _ = plan(capsys, tmp_path, R1, "--accelerator", "h100-80gb", "--compare", "16x1", "--html", str(file))
    text = file.read_text(encoding="utf-8")
    outline = Outline()
    outline.feed(text)

    assert code == 0
    assert ([], []) == (outline.loaded, outline.open)
    assert "url(" not in text
    assert "prefers-color-scheme: dark" in text
    assert "node 1 · stage 1, layers 31-60" in outline.words
    assert text.count("<svg") == 4
