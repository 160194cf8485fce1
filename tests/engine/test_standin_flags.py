"""The stand-in knows the flags that the real parser has: no more, no fewer, and of the same kind."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from lockstep.standin.vllm.arguments import build_parser

if TYPE_CHECKING:
    from lockstep.rehearse.real_engine import RealEngine

# Prints {option: whether it takes a value} of `vllm serve`.
ASK = """
import json
from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser
actions = make_arg_parser(FlexibleArgumentParser(prog="vllm serve"))._actions
print(json.dumps({option: action.nargs != 0 for action in actions for option in action.option_strings}))
"""


@pytest.mark.engine
def test_flags_are_those_of_the_real_parser(real_engine: RealEngine) -> None:
    """Each option, and whether it takes a value."""
    done = subprocess.run(
        [real_engine.bin / "python", "-c", ASK], capture_output=True, text=True, check=True, timeout=300
    )
    real: dict[str, bool] = json.loads(done.stdout.splitlines()[-1])
    actions = build_parser("0.32.0")._actions
    known = {option: action.nargs != 0 for action in actions for option in action.option_strings}

    assert real == known | {"--help": False, "-h": False}
