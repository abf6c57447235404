"""Measures the slowest and the largest answer to documents that are made to be slow and large."""

import time
import tracemalloc

from bench.effort import choose
from bench.report import describe_machine, render_machine, render_table
from bench.results import write_section
from prowess.policy import PROFILES
from prowess.skill.reading import parse_skill

SIZE = 65_000
ROUNDS = choose(5, quick=1)


def documents() -> dict[str, str]:
    """Frontmatter that attacks a reader, near the largest size that is read at all."""
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + level)}: &{chr(98 + level)} [{', '.join(['*' + chr(97 + level)] * 9)}]\n" for level in range(8)
    )
    return {
        "alias bomb": bomb,
        "open brackets": "a: " + "[" * SIZE,
        "open braces": "a: " + "{" * SIZE,
        "nested lists": "- " * (SIZE // 2),
        "complex keys": "? " * (SIZE // 2),
        "a long list": "a: [" + "x," * (SIZE // 2) + "]",
        "many keys": "".join(f"k{index}: v\n" for index in range(SIZE // 9)),
        "many broken lines": "".join(f"k{index}: a: b\n" for index in range(SIZE // 12)),
        "400 broken lines": "".join(f"k{index}: a: b {'c: d ' * 25}\n" for index in range(390)),
        "one long broken line": "description: " + "a: b " * (SIZE // 5),
        "one long text": "description: " + "word " * (SIZE // 5),
        "quotes": 'description: "' + '\\" ' * (SIZE // 3),
        "comments": "# x\n" * (SIZE // 4),
        "tabs": "\t" * SIZE,
        "anchors": "".join(f"k{index}: &a{index} x\n" for index in range(SIZE // 15)),
        "blanks": "description:" + " " * SIZE + "x",
        "line breaks": "\n" * SIZE,
        "look-alikes": "description: " + "p\u0430yp\u0430l " * (SIZE // 9),
        "zero-width": "description: " + "a\u200b" * (SIZE // 4),
    }


def measure(text: str) -> tuple[float, float]:
    """Return milliseconds and megabytes at the most, over all profiles."""
    head = f"---\n{text}\n---\nBody\n".encode()
    slowest = largest = 0.0
    for policy in PROFILES.values():
        times: list[float] = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            parse_skill(head, folder="hostile", reading=policy.reading)
            times.append(time.perf_counter() - begun)
        slowest = max(slowest, min(times) * 1000)
        tracemalloc.start()
        parse_skill(head, folder="hostile", reading=policy.reading)
        largest = max(largest, tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
    return slowest, largest


def main() -> None:
    """Write the section of the results."""
    found = {name: measure(text) for name, text in documents().items()}
    rows = [(name, f"{ms:.1f}", f"{mb:.1f}") for name, (ms, mb) in sorted(found.items(), key=lambda row: -row[1][0])]
    slowest, largest = max(ms for ms, _ in found.values()), max(mb for _, mb in found.values())
    write_section(
        "Hostile documents",
        "\n".join(
            [
                f"`python -m bench.hostile` — {render_machine(describe_machine())}",
                "",
                "Frontmatter of up to 65,000 bytes under every profile; the best of five for the time, the peak of",
                "what Python allocates for the memory.",
                "",
                render_table(("document", "ms", "MB"), rows),
                "",
                f"- The slowest answer takes {slowest:.1f} ms, the largest {largest:.1f} MB; the goal: 50 ms, 20 MB.",
            ]
        ),
    )


if __name__ == "__main__":
    main()
