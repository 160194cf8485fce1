"""What a person sees while it runs: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lockstep.rehearse.controller import Controller
    from lockstep.rehearse.forward import Forward
    from lockstep.rehearse.kubelet import Kubelet
    from lockstep.rehearse.plan import Report
    from lockstep.rehearse.timeline import Event, Timeline

COLOURS = {"fault": "bold red", "group": "bold", "request": "cyan", "ready": "green", "not-ready": "yellow"}


def line(event: Event) -> str:
    """Return an event as one line."""
    who = "group" if event.rank is None else f"rank {event.rank}"
    return f"{event.at:7.2f} s  {who:<8} {event.kind:<9} {event.text}"


class View:
    """Prints events as they come; without a console nothing."""

    def __init__(self, console: _Output | None) -> None:
        self._console = console

    def event(self, event: Event) -> None:
        """Show one event."""
        self._print(line(event), COLOURS.get(event.kind, ""))

    def answer(self, report: Report) -> None:
        """Show the completion."""
        self._print(f"\nanswer: {report.answer}\n", "bold cyan")

    def keep(self, controller: Controller, forward: Forward | None) -> None:
        """Say how to reach the group while it is kept."""
        if forward is None:
            return
        model = controller.pods[0].environment.get("LOCKSTEP_SERVED_NAME", "")
        body = '{"model": "%s", "messages": [{"role": "user", "content": "hello"}]}' % model  # noqa: UP031 - braces
        self._print("The group is kept until Ctrl-C (a second one ends it at once). Try:")
        url = f"http://{forward.address}/v1/chat/completions"
        self._print(f"  curl {url} -H 'Content-Type: application/json' -d '{body}'")

    def _print(self, text: str, style: str = "") -> None:
        if self._console is not None:
            try:
                self._console.print(Text(text, style=style), soft_wrap=True)
            except OSError as error:  # a full disk
                self._console.fall_silent(error)


class LiveView(View):
    """Adds a table that stands below the lines."""

    def __init__(self, console: _Output, controller: Controller) -> None:
        super().__init__(console)
        self._controller = controller
        self._last: dict[int, str] = {}

    def event(self, event: Event) -> None:
        """Keep the last word of each rank; probes only show in the table."""
        if event.rank is not None:
            self._last[event.rank] = event.text
        if event.kind != "probe":
            super().event(event)

    def __rich__(self) -> Table:
        """Draw the table."""
        table = Table(box=None, pad_edge=False, header_style="dim")
        for column in ("rank", "pod", "address", "state", "probes", "restarts", "last event"):
            table.add_column(column, no_wrap=True, overflow="ellipsis")
        for rank, pod in sorted(self._controller.pods.items()):
            state = "Ready" if pod.status.ready else pod.status.phase
            style = "green" if pod.status.ready else "yellow" if state != "Terminating" else "red"
            names = (str(rank), pod.pod.name, pod.place.address)
            said = (str(pod.status.restarts), self._last.get(rank, ""))
            table.add_row(*names, Text(state, style=style), _probes(pod), *said)
        return table


def _probes(pod: Kubelet) -> Text:
    shown = Text()
    for kind, result in pod.verdicts.items():
        shown.append(f"{kind} ", style="green" if result.ok else "red")
    return shown


class _Output(Console):
    """Standard output; when its reader (head, less) has gone or its disk is full, it says so and falls silent."""

    def __init__(self, closed: Callable[[OSError], None]) -> None:
        super().__init__(file=sys.stdout, highlight=False, soft_wrap=False)
        self._closed = closed

    def on_broken_pipe(self) -> None:
        """Go on in place of rich, which would end the process here and leave the pods to the kernel."""
        self.fall_silent(BrokenPipeError())

    def fall_silent(self, error: OSError) -> None:
        """Print nothing from here on, and say why."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        self._closed(error)


@contextmanager
def choose_view(
    controller: Controller, timeline: Timeline, *, quiet: bool, closed: Callable[[OSError], None]
) -> Iterator[View]:
    """Show the timeline as it fits the output: a table on a terminal, plain lines elsewhere.

    ``closed`` is called when the output cannot be written any more, with the reason.
    """
    if quiet:
        yield View(None)
        return
    console = _Output(closed)
    view = LiveView(console, controller) if console.is_terminal else View(console)
    timeline.listeners.append(view.event)
    if isinstance(view, LiveView):
        with Live(view, console=console, refresh_per_second=4, transient=True):
            yield view
    else:
        yield view
