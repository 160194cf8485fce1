"""Run Argo CD's Lua scripts as Argo CD runs them: Lua 5.1, no library but the basic one, tables and a safe clock.

Source: argoproj/argo-cd v3.2.11, ``util/lua/lua.go`` and ``oslib_safe.go``.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Final

from lupa.lua51 import LuaRuntime

if TYPE_CHECKING:
    from pathlib import Path

_ZONE: Final = timezone(timedelta(hours=5, minutes=30))  # Argo CD may run anywhere
_FIELDS: Final = ("year", "month", "day", "hour", "min", "sec")
_CLOSED: Final = """
local time, date = ...
local safe = {time = time, date = date}
getmetatable("").__index = nil
string, math, io, os, debug, coroutine, python, load, loadfile, dofile = nil
require = function(name)
  assert(name == "os", "only os can be required")
  return safe
end
"""


def run(script: Path, item: Any, now: str) -> Any:
    """Run a script on an object at a time, and give what it returns."""
    moment = datetime.fromisoformat(now.replace("Z", "+00:00"))
    lua = LuaRuntime(unpack_returned_tuples=True, register_eval=False)

    def time(fields: Any = None) -> float:
        if fields is None:
            return moment.timestamp()
        return datetime(*(int(fields[name]) for name in _FIELDS), tzinfo=_ZONE).timestamp()

    def date(form: str, seconds: float | None = None) -> Any:
        """Write the local time, or that of UTC for a form with ``!`` and no time to write."""
        universal = form.startswith("!") and seconds is None
        at = moment if seconds is None else datetime.fromtimestamp(seconds, tz=timezone.utc)
        shown = at.astimezone(timezone.utc if universal else _ZONE)
        if form.lstrip("!") == "*t":
            values = (shown.year, shown.month, shown.day, shown.hour, shown.minute, shown.second)
            return lua.table_from(dict(zip(_FIELDS, values, strict=True)))
        return shown.strftime(form.lstrip("!"))

    lua.execute(_CLOSED, time, date)
    lua.globals().obj = _to_lua(lua, item)
    return _from_lua(lua.execute(script.read_text(encoding="utf-8")))


def _to_lua(lua: LuaRuntime, value: Any) -> Any:
    if isinstance(value, dict):
        return lua.table_from({key: _to_lua(lua, item) for key, item in value.items() if item is not None})
    if isinstance(value, list):
        return lua.table_from([_to_lua(lua, item) for item in value])
    return value


def _from_lua(value: Any) -> Any:
    if not hasattr(value, "items"):
        return value
    content = {key: _from_lua(item) for key, item in value.items()}
    return list(content.values()) if content and all(isinstance(key, int) for key in content) else content
