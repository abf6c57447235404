"""What follows from instructions and a wish: the files to read and the scripts to run, in their order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prowess.agent.offline.acts import Read, Run
from prowess.agent.offline.content_words import find_words
from prowess.agent.offline.customary_folders import is_script
from prowess.agent.offline.markdown_blocks import Block, has_steps, parse_blocks
from prowess.agent.offline.named_files import NamedFile, find_named_files, match_file
from prowess.agent.offline.named_scripts import NamedScript, choose_word, find_named_scripts
from prowess.agent.offline.tool_texts import Instructions
from prowess.agent.offline.wishes import Wish, split_command

__all__ = ["MAX_READS", "MAX_READ_CHARACTERS", "MAX_RUNS", "Work", "plan_work"]

MAX_READS = 16
"""Files that are read in a turn."""
MAX_READ_CHARACTERS = 60_000
"""Of the files that are read in a turn; when there are as many, no more is read."""
MAX_RUNS = 4
"""Scripts that are run in a turn."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done, in its order."""

    reads: tuple[tuple[Read, NamedFile], ...] = ()
    """With what the instructions say of each file."""
    unread: tuple[str, ...] = ()
    """Files beyond the bound."""
    runs: tuple[Run, ...] = ()
    unrun: tuple[str, ...] = ()
    """Scripts that the instructions name and that nobody has asked for, or that are beyond the bound."""


def plan_work(skills: Sequence[Instructions], wish: Wish) -> Work:
    """Return what the instructions of these skills and the user call for."""
    reads: list[tuple[Read, NamedFile]] = []
    runs: list[Run] = []
    named: list[str] = []
    for skill in skills:
        blocks = _choose_blocks(skill, wish)
        scripts = find_named_scripts(blocks, files=skill.files, word=choose_word(wish.text))
        files = find_named_files(blocks, files=skill.files)
        reads += [(Read(skill.name, file.path), file) for file in _choose_files(skill, files, scripts, wish)]
        runs += _choose_runs(skill, scripts, wish)
        named += [script.path for script in scripts]
    unique = tuple(dict(reads).items())
    wanted = tuple(dict.fromkeys(runs))
    done = {run.script for run in wanted[:MAX_RUNS]}
    return Work(
        unique[:MAX_READS],
        tuple(read.path for read, _ in unique[MAX_READS:]),
        wanted[:MAX_RUNS],
        tuple(path for path in dict.fromkeys(named) if path not in done),
    )


def _choose_blocks(skill: Instructions, wish: Wish) -> tuple[Block, ...]:
    """Return the part of the instructions that is wanted: certain steps, if they have numbers, else all."""
    blocks = parse_blocks(skill.body)
    if not wish.steps or not has_steps(blocks):
        return blocks
    return tuple(block for block in blocks if block.step in wish.steps)


# Files


def _choose_files(
    skill: Instructions, named: Sequence[NamedFile], scripts: Sequence[NamedScript], wish: Wish
) -> Sequence[NamedFile]:
    """Return the files that the user names, if any; nothing if it is only a script that is named, and else all."""
    asked = tuple(_find_asked(skill, named, scripts, wish))
    if wish.is_whole:
        return (*named, *asked)
    return asked if asked or any(_find_named(skill, scripts, wish)) else named


def _find_asked(
    skill: Instructions, named: Sequence[NamedFile], scripts: Sequence[NamedScript], wish: Wish
) -> Iterator[NamedFile]:
    """Return the files that the user names; a script is read if it is to be seen and not to be run."""
    only_shown = wish.reads and not wish.starts
    by_path = {file.path: file for file in named}
    known = [*by_path, *(skill.files or ()), *(script.path for script in scripts)]
    for path in wish.paths:
        if path in wish.avoided:
            continue
        found = match_file(path, known=known) or (path if wish.reads and "/" in path else "")
        if found and (only_shown or not is_script(found)):
            yield by_path.get(found, NamedFile(found))


# Scripts


def _choose_runs(skill: Instructions, scripts: Sequence[NamedScript], wish: Wish) -> Iterator[Run]:
    """Return what is asked for: scripts that the user names, all of a whole procedure, else the one that fits best.

    Nothing is run unless the user says so with a verb, and without a word against it: a script that is only named, or
    a procedure that is only to be told of, is none.
    """
    if wish.forbids_runs or not wish.runs:
        return
    asked = tuple(_find_named(skill, scripts, wish))
    avoided = {script.path for script in _find_named(skill, scripts, wish, paths=wish.avoided)}
    if asked:
        chosen = asked if wish.starts else ()
    elif wish.starts and wish.is_whole:
        chosen = tuple(scripts)
    else:
        chosen = _choose_best([script for script in scripts if script.path not in avoided], wish)
    chosen = tuple(script for script in chosen if script.path not in avoided)
    for number, script in enumerate(chosen):
        given = _find_arguments(skill, script, wish) if asked or number == 0 else None
        yield Run(skill.name, script.path, script.arguments if given is None else given)


def _find_named(
    skill: Instructions, scripts: Sequence[NamedScript], wish: Wish, *, paths: Sequence[str] | None = None
) -> Iterator[NamedScript]:
    """Return the scripts that these paths mean; by default, those that the user names and wants."""
    by_path = {script.path: script for script in scripts}
    known = [*by_path, *(path for path in skill.files or () if is_script(path))]
    wanted = [path for path in wish.paths if path not in wish.avoided]
    for path in wanted if paths is None else paths:
        found = match_file(path, known=known) or (path if is_script(path) and "/" in path else "")
        if found:
            yield by_path.get(found, NamedScript(found))


def _choose_best(scripts: Sequence[NamedScript], wish: Wish) -> tuple[NamedScript, ...]:
    """Return the script that is named with the most words of the message, the first of equals.

    Where something is only to be checked or computed, the script's own name must have a word of it.
    """
    if not wish.starts:
        scripts = [script for script in scripts if any(word in wish.words for word in _find_own_words(script))]
    if not scripts:
        return ()
    best = max(range(len(scripts)), key=lambda at: (sum(word in scripts[at].words for word in wish.words), -at))
    return (scripts[best],)


def _find_own_words(script: NamedScript) -> tuple[str, ...]:
    return find_words(script.path.rsplit("/", 1)[-1].split(".", 1)[0])


def _find_arguments(skill: Instructions, script: NamedScript, wish: Wish) -> tuple[str, ...] | None:
    """Return the arguments that the user gives: after `--`, in a command, or in quotation marks; None without any."""
    if wish.after_dashes is not None:
        return wish.after_dashes
    names = {script.path, script.path.rsplit("/", 1)[-1], skill.name, f"/{skill.name}", f"${skill.name}"}
    given: list[str] = []
    for text in wish.quoted:
        words = split_command(text)
        if len(words) > 1 and words[0].removeprefix("./") in names:
            return tuple(words[1:])
        given += [] if text in names else [text]
    return tuple(given) or None
