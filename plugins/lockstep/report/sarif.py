"""Findings as SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html)."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from lockstep import __version__
from lockstep.codes import known
from lockstep.explain import markdown, page
from lockstep.report.place import placed, shown

if TYPE_CHECKING:
    from lockstep.codes import Code
    from lockstep.findings import Finding
    from lockstep.report import Reports
    from lockstep.yamlfile import Value

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def write(reports: Reports, *, strict: bool) -> str:  # noqa: ARG001 - SARIF has levels, and no failure
    """Write one run, with a rule for each code that was found.

    Parameters
    ----------
    reports : sequence of (Path, sequence of Finding)
        Each file with its findings.
    strict : bool
        Without effect.

    Returns
    -------
    str
        JSON.
    """
    codes = list(dict.fromkeys(finding.code for _, findings in reports for finding in findings))
    driver: Value = {
        "name": "lockstep",
        "semanticVersion": __version__,
        "rules": [_rule(known()[code]) for code in codes],
    }
    results: list[Value] = [
        _result(shown(file), finding, line, codes.index(finding.code))
        for file, findings in reports
        for finding, line in placed(file, findings)
    ]
    run: Value = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(code: Code) -> Value:
    return {
        "id": code.code,
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": code.why},
        "help": {"text": page(code), "markdown": markdown(code)},
        "defaultConfiguration": {"level": code.severity.value},
    }


def _result(uri: str, finding: Finding, line: int, rule: int) -> Value:
    # The same fault is the same alert after lines have moved.
    identity = "\0".join((uri, finding.code, finding.path))
    location: dict[str, Value] = {
        "physicalLocation": {"artifactLocation": {"uri": quote(uri)}, "region": {"startLine": line}}
    }
    if finding.path:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.path}]
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity.value,
        "message": {"text": f"{finding.message}. {finding.fix}"},
        "locations": [location],
        "partialFingerprints": {"lockstep/v1": hashlib.sha256(identity.encode()).hexdigest()},
    }
