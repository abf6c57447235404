"""Where skills keep what is to be read, and what is to be run."""

from prowess.execution.interpreters import is_script_name

__all__ = ["READ_FOLDERS", "RUN_FOLDERS", "is_script"]

READ_FOLDERS = (
    *("assets", "checklists", "data", "docs", "examples", "guides", "patterns", "prompts", "reference", "references"),
    *("resources", "rules", "schemas", "templates"),
)
RUN_FOLDERS = ("bin", "scripts")


def is_script(path: str) -> bool:
    """Whether a path is that of something to run, and not to read: by its folder, else by its name."""
    folder, slash, _ = path.removeprefix("./").partition("/")
    if slash and folder in (*READ_FOLDERS, *RUN_FOLDERS):
        return folder in RUN_FOLDERS
    return is_script_name(path)
