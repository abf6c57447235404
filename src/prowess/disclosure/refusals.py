"""What is said of a file of a skill that cannot be opened, whichever file it is."""

from prowess.sources.beneath import Obstacle

__all__ = ["HINTS", "REFUSALS"]

REFUSALS = {
    Obstacle.MISSING: ("resource-not-found", "resource not found"),
    Obstacle.DANGLING: ("resource-not-found", "resource not found"),
    Obstacle.ESCAPES: ("access-denied", "Access denied"),
    Obstacle.NOT_A_FILE: ("not-a-file", "Not a file."),
    Obstacle.UNREADABLE: ("resource-unreadable", "Unable to read resource."),
    Obstacle.TOO_MANY_LINKS: ("resource-unreadable", "Unable to read resource."),
}
"""The code and the message of each obstacle."""
HINTS = {
    Obstacle.DANGLING: "a link of the skill leads there, and nothing is there; go on without this file",
    Obstacle.ESCAPES: "the way leads out of the skill; only files of the skill itself can be read",
    Obstacle.UNREADABLE: "the system refuses it; go on without this file, or try once more",
    Obstacle.TOO_MANY_LINKS: "its links lead from one to the next; go on without this file",
}
"""What to do about some of them; for the others, that depends on the file."""
