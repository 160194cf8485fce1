"""Print a command for the log, without the secrets in it: ``show.py COMMAND [ARGUMENT...]``.

Masked are the values of flags whose name ends in token, key, secret or password, such members of JSON
values, and wherever it stands the value of an environment variable with such a name.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

WORD = r"(?:token|(?:key|secret|password)s?)"
FLAG = re.compile(rf"(--?(?:[\w-]*[-_])?{WORD})(=.*)?", re.IGNORECASE | re.DOTALL)
MEMBER = re.compile(rf'("(?:\w*[-_])?{WORD}"\s*:\s*")(?:[^"\\]|\\.)*"', re.IGNORECASE)
VARIABLE = re.compile(rf"(?:\w*_)?{WORD}", re.IGNORECASE)
MASK = "***"


def masked(command: list[str]) -> Iterator[str]:
    """Yield the items of the command, secrets replaced."""
    known = [value for name, value in os.environ.items() if VARIABLE.fullmatch(name) and len(value) > 3]
    after_flag = False
    for item in command:
        flag = FLAG.fullmatch(item)
        if flag:
            after_flag = not flag[2]
            yield flag[1] + (f"={MASK}" if flag[2] else "")
            continue
        after_flag = after_flag and not item.startswith("--")
        shown = MASK if after_flag else MEMBER.sub(rf'\1{MASK}"', item)
        for value in known:
            shown = shown.replace(value, MASK)
        yield shown


sys.stdout.write(f"lockstep: engine command: {shlex.join(masked(sys.argv[1:]))}\n")
