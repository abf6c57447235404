"""Make docs/images/terminal.svg: a recording of real commands in a real terminal, as one animated picture.

`python tools/record_terminal.py`. It needs tmux. A home and a project of its own are made for it, and removed.
"""

import html
import itertools
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rich.color import ColorType
from rich.style import Style
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

__all__ = ["Frame", "render"]

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "terminal.svg"
COLUMNS, ROWS = 96, 30
CELL_WIDTH, LINE_HEIGHT, MARGIN = 8.4, 18, 14
KEY_SECONDS, LOOK_SECONDS, LONGEST_SECONDS, LAST_SECONDS = 0.045, 0.1, 3.0, 5.0
SCENES: tuple[tuple[str, str, float], ...] = (
    ("prowess list", "test-first-fix  ", 1.5),
    ("clear", "", 0.2),
    ("prowess chat", "conversation", 1.0),
    ("/skills-system-validation Run scripts/echo.sh", "efuse for good?", 3.0),
    ("o", "tokens in", 3.0),
)
"""What is typed, what then appears, and for how long it is looked at."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What the screen showed, in the terminal's own codes, and for how long."""

    screen: str
    seconds: float


@dataclass(slots=True)
class Terminal:
    """A terminal of its own, and what was seen in it."""

    folder: Path
    seen: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])

    def start(self) -> None:
        home, project = self.folder / "home", self.folder / "project"
        for made in (home, project):
            made.mkdir()
        shell = (
            f"cd {project} && env -i HOME={home} PATH={ROOT / '.venv' / 'bin'}:/usr/bin:/bin TERM=xterm-256color"
            " LANG=C.UTF-8 'PS1=$ ' sh -i"
        )
        self._tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), shell)
        self.wait_for("$")

    def type(self, text: str) -> None:
        for key in text:
            self._tmux("send-keys", "-l", key)
            time.sleep(KEY_SECONDS)
            self.look()
        self._tmux("send-keys", "Enter")

    def wait_for(self, text: str, *, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while text not in self.look():
            if time.monotonic() > end:
                raise SystemExit(f"{text!r} did not appear:\n{self.seen[-1][1]}")
            time.sleep(LOOK_SECONDS)

    def watch(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            time.sleep(LOOK_SECONDS)

    def look(self) -> str:
        screen = self._tmux("capture-pane", "-p", "-e").rstrip("\n")
        self.seen.append((time.monotonic(), screen))
        return screen

    def stop(self) -> None:
        self._tmux("kill-server")

    def frames(self) -> Iterator[Frame]:
        """What was seen, each screen once; nothing stands still for longer than a reader needs."""
        begun = 0
        for index, (_, screen) in enumerate(self.seen):
            if screen != self.seen[begun][1]:
                yield Frame(self.seen[begun][1], min(self.seen[index][0] - self.seen[begun][0], LONGEST_SECONDS))
                begun = index
        yield Frame(self.seen[-1][1], LAST_SECONDS)

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self.folder / "tmux"), "-f", "/dev/null", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def render(frames: list[Frame]) -> str:
    """Return the picture: all screens lie on top of each other, and each is shown in its time, again and again."""
    total = sum(frame.seconds for frame in frames)
    width, height = COLUMNS * CELL_WIDTH + 2 * MARGIN, ROWS * LINE_HEIGHT + 2 * MARGIN
    rules: list[str] = []
    screens: list[str] = []
    begun = 0.0
    for number, frame in enumerate(frames):
        start, end = (f"{100 * moment / total:.3f}%" for moment in (begun, begun + frame.seconds))
        begun += frame.seconds
        steps = [f"{start}{{visibility:visible}}", f"{end}{{visibility:hidden}}"]
        if number:
            steps.insert(0, "0%{visibility:hidden}")
        rules.append(f"@keyframes f{number}{{{''.join(steps)}}}#f{number}{{animation-name:f{number}}}")
        screens.append(f'<g class="f" id="f{number}">{"".join(_lines(frame.screen))}</g>')
    still = f"#f{len(frames) - 1}{{visibility:visible}}"
    style = (
        f".f{{visibility:hidden;animation:{total:.2f}s step-end infinite}}"
        "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}"
        f"{''.join(rules)}@media(prefers-reduced-motion){{.f{{animation:none}}{still}}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        f' role="img"><title>prowess in a terminal</title><style>{style}</style>'
        f'<rect width="100%" height="100%" rx="10" fill="{_BACK}"/>{"".join(screens)}</svg>\n'
    )


_BACK, _FORE = "#16181d", "#d6d9df"


def _lines(screen: str) -> Iterator[str]:
    for row, text in enumerate(Text.from_ansi(screen).split("\n", allow_blank=True)):
        top = MARGIN + (row + 1) * LINE_HEIGHT - 5
        for start, end, style in _pieces(text):
            shown = text.plain[start:end]
            if shown.strip():
                place = f'x="{MARGIN + start * CELL_WIDTH:.1f}" y="{top}" textLength="{len(shown) * CELL_WIDTH:.1f}"'
                yield f"<text {place}{_look(style)}>{html.escape(shown)}</text>"


def _pieces(text: Text) -> Iterator[tuple[int, int, Style]]:
    """Where the look changes, in order."""
    marks = sorted({0, len(text.plain), *(place for span in text.spans for place in (span.start, span.end))})
    for start, end in itertools.pairwise(marks):
        styles = [span.style for span in text.spans if span.start <= start and span.end >= end]
        yield start, end, Style.combine([Style(), *(style for style in styles if isinstance(style, Style))])


def _look(style: Style) -> str:
    fill = _FORE
    if style.color is not None and style.color.type is not ColorType.DEFAULT:
        fill = style.color.get_truecolor(DIMMED_MONOKAI).hex
    look = f' fill="{fill}"'
    if style.bold:
        look += ' font-weight="bold"'
    if style.dim:
        look += ' opacity=".65"'
    return look


def main() -> int:
    if shutil.which("tmux") is None:
        print("tmux is not installed; apt-get install tmux", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        terminal = Terminal(Path(folder))
        terminal.start()
        try:
            terminal.seen.clear()
            for typed, expected, seconds in SCENES:
                terminal.type(typed)
                terminal.wait_for(expected)
                terminal.watch(seconds)
        finally:
            terminal.stop()
        PICTURE.write_text(render(list(terminal.frames())), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
