"""The command line: finds the command, runs it, and turns whatever stops it into one message and an exit code.

Exit codes: 0 no error found, 1 at least one error found, 2 wrong use or a fault of Lockstep itself.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Final, NoReturn

from lockstep import __version__
from lockstep.errors import LockstepError, ValuesError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: Final = {
    "check": "say whether the layouts in values files can work",
    "explain": "say why a finding matters, with a wrong and a right example",
    "plan": "draw a layout: nodes, ranks, layers and memory",
    "diff": "say which groups a change of values restarts, in which order, and what it takes",
    "render": "print the objects that Helm and Argo CD would apply",
    "rehearse": "run the rendered group as processes on this machine",
}

_UNWRITABLE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the program's name; those of the process by default.

    Returns
    -------
    int
        The exit code.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    sys.stdout = sys.stdout or io.StringIO()  # None where the caller has closed it
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a locale without a letter of the values is no fault
    try:
        args = _parser(words).parse_args(words)
        code: int = args.run(args)
        sys.stdout.flush()
    except ValuesError as error:
        return _say(f"{error.file}: {error}" if error.file else str(error), error.exit_code)
    except LockstepError as error:
        return _say(str(error), error.exit_code)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:  # the reader (head, less) has seen enough
        _drop_output()
        return 128 + signal.SIGPIPE
    except Exception as error:  # the last resort: a person gets a sentence, not a traceback
        if os.environ.get("LOCKSTEP_DEBUG"):
            raise
        if isinstance(error, OSError) and error.errno in _UNWRITABLE:
            _drop_output()
            return _say(f"the output cannot be written ({error.strerror})", 2)
        what = f"{type(error).__name__}: {error}"
        return _say(f"a fault of lockstep itself: {what} (LOCKSTEP_DEBUG=1 shows where; please report it)", 2)
    return code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Name the way to the help instead of printing a usage block of many lines."""
        self.exit(2, f"{self.prog}: {message}\nSee `{self.prog} --help`.\n")


def _parser(words: list[str]) -> argparse.ArgumentParser:
    """Build the parser; only the module of the command that was asked for is imported."""
    parser = _Parser(
        prog="lockstep", description="Check, render and rehearse groups of GPU nodes that serve one language model."
    )
    parser.add_argument("--version", action="version", version=f"lockstep {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    wanted = next((word for word in words if not word.startswith("-")), None)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        if name == wanted:
            module = import_module(f"lockstep.commands.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser


def _drop_output() -> None:
    """Let go of what is still buffered, so that the interpreter does not stumble over it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str, code: int) -> int:
    print(f"lockstep: {message}", file=sys.stderr)
    return code
