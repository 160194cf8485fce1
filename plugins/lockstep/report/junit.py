"""Findings as JUnit XML, in the form that GitLab and Jenkins read (https://llg.cubic.org/docs/junit/).

A file is a test suite and a finding a test case, so that a report shows each finding beside its file. A file that
passes has one case that says so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from lockstep.findings import has_errors
from lockstep.report.place import placed, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lockstep.findings import Finding
    from lockstep.report import Reports

# What XML 1.0 cannot hold in any spelling (https://www.w3.org/TR/xml/#charsets).
_IMPOSSIBLE: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(reports: Reports, *, strict: bool) -> str:
    """Write one suite a file.

    Parameters
    ----------
    reports : sequence of (Path, sequence of Finding)
        Each file with its findings.
    strict : bool
        Whether a warning is a failure, too.

    Returns
    -------
    str
        XML.
    """
    root = Element("testsuites", name="lockstep check")
    failures = [_suite(root, file, findings, strict=strict) for file, findings in reports]
    root.set("tests", str(len(root.findall("*/testcase"))))
    root.set("failures", str(sum(failures)))
    indent(root)
    # In ASCII, with references for the rest: right in whatever encoding it is printed.
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root).decode("ascii")


def _suite(root: Element, file: Path, findings: Sequence[Finding], *, strict: bool) -> int:
    """Add the suite of one file and return the number of its failures."""
    name = _text(shown(file))
    suite = SubElement(root, "testsuite", name=name)
    failures = 0
    for finding, line in placed(file, findings):
        case = _case(suite, name, f"{finding.code} {finding.path}".rstrip(), line)
        said = _text(f"{finding.message}. {finding.fix}")
        if has_errors([finding], strict=strict):
            failures += 1
            failure = SubElement(case, "failure", type=finding.code, message=_text(finding.message))
            failure.text = f"{name}:{line}: {said}"
        else:
            SubElement(case, "system-out").text = f"{finding.severity.value}: {said}"
    if not failures:
        _case(suite, name, "lockstep check", 1)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(failures))
    suite.set("errors", "0")
    return failures


def _case(suite: Element, file: str, name: str, line: int) -> Element:
    return SubElement(suite, "testcase", classname=file, name=_text(name), file=file, line=str(line), time="0")


def _text(text: str) -> str:
    r"""Replace what XML cannot hold by its code, as in \x1b."""
    return _IMPOSSIBLE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
