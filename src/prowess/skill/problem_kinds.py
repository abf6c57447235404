"""The whole vocabulary of Problems, one row a code; the problem catalogue in the docs is made from it.

Codes are stable: tools and people rely on them. A kind has two severities, one for the modes that forgive and one for
strict reading; `error` means that the skill is not loaded.
"""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["KINDS", "Kind", "Severity"]


class Severity(StrEnum):
    """How bad a Problem is; only an error keeps a skill from loading."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Kind:
    """What every Problem with one code has in common."""

    lenient: Severity
    strict: Severity
    what: str
    why: str
    remedy: str


_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO

KINDS: dict[str, Kind] = {
    # The file
    "skill-md-missing": Kind(
        _E,
        _E,
        "The folder has no file named exactly `SKILL.md`.",
        "A skill is a folder with a `SKILL.md`; the name is case-sensitive.",
        "add a SKILL.md, or give the path of a folder that has one",
    ),
    "skill-md-misnamed": Kind(
        _E,
        _E,
        "The folder has a `skill.md` or `Skill.md`, but no `SKILL.md`.",
        "On a case-sensitive disk most tools will not find it, so nobody may rely on it.",
        "rename the file to SKILL.md",
    ),
    "skill-md-unreadable": Kind(
        _E,
        _E,
        "The `SKILL.md` could not be read.",
        "The system refused it (permissions, an I/O error), or it vanished while it was read.",
        "make the file readable by the user that runs Prowess",
    ),
    "not-a-file": Kind(
        _E,
        _E,
        "A FIFO, socket, device or folder stands where a file is expected.",
        "Opening such things can hang or act on the machine, so they are never opened.",
        "remove it from the skill, or replace it by a file",
    ),
    "link-escape": Kind(
        _E,
        _E,
        "A link leads out of the skill, or nowhere.",
        "What lies outside is not part of the skill that was reviewed, and may be a private file.",
        "replace the link by a copy of the file it points to",
    ),
    "not-utf-8": Kind(
        _E,
        _E,
        "The frontmatter is not UTF-8.",
        "Guessing an encoding would put wrong letters before the model.",
        "save the file as UTF-8",
    ),
    "utf-16": Kind(
        _E,
        _E,
        "The file is UTF-16, as its byte order mark says.",
        "The standard asks for UTF-8, and other tools would see no frontmatter at all.",
        "save the file as UTF-8",
    ),
    "nul-byte": Kind(
        _E,
        _E,
        "The frontmatter holds a NUL byte.",
        "Text has none: the file is damaged or binary.",
        "remove the NUL bytes, or restore the file",
    ),
    # The fences
    "no-frontmatter": Kind(
        _E,
        _E,
        "The file has no frontmatter.",
        "Name and description stand between two lines that are exactly `---`, at the very start of the file.",
        "begin the file with a line ---, then name: and description:, then a line ---",
    ),
    "text-before-frontmatter": Kind(
        _E,
        _E,
        "There is text before the frontmatter.",
        "Frontmatter counts only at the start of the file; elsewhere `---` is a horizontal rule.",
        "move the frontmatter to the first line",
    ),
    "blank-lines-first": Kind(
        _W,
        _W,
        "Blank lines stand before the frontmatter.",
        "Some tools want the fence on the first line and see no frontmatter otherwise.",
        "remove the blank lines at the top",
    ),
    "frontmatter-unclosed": Kind(
        _E,
        _E,
        "The frontmatter has no closing fence.",
        "Only a line that is exactly `---` ends it; `...` or an indented `---` does not.",
        "put a line --- after the last key",
    ),
    "fence-not-exact": Kind(
        _W,
        _E,
        "A fence has blanks after its three hyphens.",
        "A fence is a line that is exactly `---`; stricter readers will not see this one.",
        "remove the blanks after ---",
    ),
    "frontmatter-too-large": Kind(
        _E,
        _E,
        "The frontmatter is larger than 64 KiB.",
        "Frontmatter is read for every skill before every conversation, so its size is bounded.",
        "move the text into the body or into references/",
    ),
    # YAML
    "yaml-invalid": Kind(
        _E,
        _E,
        "The frontmatter is not valid YAML, and cannot be mended safely.",
        "Without a reliable reading, a name or a description could come out wrong.",
        "correct the line; quote values that hold ': ', '#', brackets or other YAML signs",
    ),
    "yaml-not-a-map": Kind(
        _E,
        _E,
        "The frontmatter is not a map of keys and values.",
        "A list or a bare text cannot hold a name and a description.",
        "write lines of the form key: value",
    ),
    "yaml-too-deep": Kind(
        _E,
        _E,
        "The YAML nests deeper than 16 levels.",
        "Deep nesting serves only attacks on readers.",
        "flatten the value",
    ),
    "yaml-too-many-nodes": Kind(
        _E,
        _E,
        "The YAML holds more than 2,000 values, aliases counted as often as they are used.",
        "A few hundred bytes of aliases can stand for billions of values.",
        "write the values out, and fewer of them",
    ),
    "yaml-too-many-aliases": Kind(
        _E,
        _E,
        "The YAML uses more than 16 aliases.",
        "Aliases are allowed for convenience, not as a way to build large documents.",
        "write the values out",
    ),
    "yaml-bad-alias": Kind(
        _E,
        _E,
        "An alias refers to an anchor that is not defined before it, or to its own parent.",
        "It has no value, or an endless one.",
        "write the value out",
    ),
    "yaml-complex-key": Kind(
        _E,
        _E,
        "A key is a list or a map.",
        "Keys are words. Braces from a template, such as `{{name}}`, read as such a key.",
        "use a plain word as the key, or quote the value",
    ),
    "yaml-several-documents": Kind(
        _E,
        _E,
        "The frontmatter holds more than one YAML document.",
        "Only one can be meant.",
        "remove the line ... and what follows it",
    ),
    "yaml-tag": Kind(
        _E,
        _E,
        "A value carries a YAML tag.",
        "Tags ask a reader to build special objects; Prowess builds none. Often a plain `!` was meant.",
        "remove the tag, or quote the value",
    ),
    "yaml-duplicate-key": Kind(
        _W,
        _E,
        "A key is given twice.",
        "YAML forbids it, and readers differ in which one they take. Prowess takes the first.",
        "remove one of them",
    ),
    "yaml-repaired": Kind(
        _W,
        _E,
        "A line was not valid YAML and has been mended.",
        "Strict readers will refuse the skill. The message shows the line as it was understood.",
        "replace the line by the one shown",
    ),
    "yaml-fallback": Kind(
        _W,
        _E,
        "The frontmatter is not valid YAML; only name and description were taken from its lines.",
        "All other keys are lost.",
        "correct the YAML",
    ),
    "value-cut-by-comment": Kind(
        _W,
        _W,
        "A text value ends at a ` #`, which starts a comment.",
        "The rest of the line is not part of the value, often by mistake.",
        "quote the value if the rest belongs to it",
    ),
    # Fields
    "name-missing": Kind(
        _W,
        _E,
        "There is no `name`; the folder's name is used.",
        "The standard requires a name, and other tools refuse the skill.",
        "add name: with the folder's name",
    ),
    "name-invalid": Kind(
        _W,
        _E,
        "The name is not lower-case letters, digits and single hyphens.",
        "Names are typed by people and models, and become commands and folder names elsewhere.",
        "use lower-case letters, digits and single hyphens, as in pdf-fill",
    ),
    "name-too-long": Kind(
        _W,
        _E,
        "The name is longer than 64 characters.",
        "The standard allows 64, and every name costs room in the prompt.",
        "shorten the name",
    ),
    "name-differs-from-folder": Kind(
        _W,
        _E,
        "The name is not the folder's name.",
        "The standard asks for the same, and some tools find a skill by one, some by the other.",
        "rename one of them",
    ),
    "name-sanitised": Kind(
        _W,
        _W,
        "The name was rewritten to fit the rule.",
        "The policy asks for stable names; the message shows old and new.",
        "use the new name in the file",
    ),
    "name-empty": Kind(
        _E,
        _E,
        "Nothing is left of the name after it was cleaned.",
        "A skill that cannot be named cannot be asked for.",
        "give the skill a name of letters and digits",
    ),
    "description-missing": Kind(
        _E,
        _E,
        "There is no `description`, or it is blank.",
        "The description is all that a model sees before it chooses a skill.",
        "add description: with what the skill does and when to use it",
    ),
    "description-from-body": Kind(
        _W,
        _W,
        "There is no `description`; the first paragraph of the instructions stands in.",
        "The policy allows it, but an author's own words work better.",
        "add description: with what the skill does and when to use it",
    ),
    "description-too-long": Kind(
        _W,
        _E,
        "The description is longer than 1,024 characters.",
        "It is shown to the model in every conversation; other tools cut or refuse it.",
        "shorten it, and move details into the body",
    ),
    "compatibility-length": Kind(
        _W,
        _E,
        "`compatibility` is empty or longer than 500 characters.",
        "The standard allows 1 to 500 characters.",
        "shorten it, or remove the key",
    ),
    "metadata-not-a-map": Kind(
        _W,
        _E,
        "`metadata` is not a map; it is left out.",
        "The standard asks for keys with text values.",
        "write metadata as indented lines of key: value",
    ),
    "metadata-not-text": Kind(
        _I,
        _E,
        "A value in `metadata` is a list or a map.",
        "The standard asks for text; other tools may drop the value. Prowess keeps it.",
        "write the value as text",
    ),
    "field-not-text": Kind(
        _W,
        _E,
        "A field that should be text is a list or a map; it is left out.",
        "Its meaning would be a guess.",
        "write the value as text",
    ),
    "field-invalid": Kind(
        _W,
        _W,
        "A field has a value that cannot be used; it is left out.",
        "The message says which value would be understood.",
        "correct the value",
    ),
    "allowed-tools-spelling": Kind(
        _W,
        _W,
        "`allowed-tools` is separated by commas.",
        "The standard separates by spaces; strict readers take the comma as part of the name.",
        "separate the patterns by spaces",
    ),
    "allowed-tools-not-text": Kind(
        _W,
        _E,
        "`allowed-tools` is a list.",
        "The standard asks for one text, separated by spaces.",
        "write the patterns on one line, separated by spaces",
    ),
    "allowed-tools-unbalanced": Kind(
        _W,
        _E,
        "A pattern in `allowed-tools` has unbalanced parentheses; it is left out.",
        "A pattern that cannot be understood must not allow anything.",
        "close the parenthesis",
    ),
    "unknown-key": Kind(
        _W,
        _W,
        "A key is neither the standard's nor a known dialect's.",
        "No tool that Prowess knows reads it. It may be a slip of the pen.",
        "correct the key, or move it under metadata",
    ),
    "unknown-key-refused": Kind(
        _E,
        _E,
        "Keys outside the standard are refused by the policy.",
        "The profile reads skills strictly.",
        "remove the keys, or move them under metadata",
    ),
    "sidecar-invalid": Kind(
        _W,
        _W,
        "`agents/openai.yaml` cannot be used; it is left out.",
        "It is optional, so a fault in it does not stop the skill.",
        "correct the file, or remove it",
    ),
    "trigger-invalid": Kind(
        _W,
        _W,
        "A trigger cannot be used; it is left out.",
        "A pattern that RE2 refuses, that is too large or that matches everything would never help, and a keyword "
        "without letters or digits cannot be found.",
        "correct the trigger; RE2 knows no look-around and no back-references",
    ),
    # What could deceive
    "invisible-characters": Kind(
        _W,
        _E,
        "A name or description holds control, bidirectional, zero-width or tag characters; they are removed.",
        "They hide text from people that a model reads, or reorder what people see.",
        "remove the characters",
    ),
    "look-alike-characters": Kind(
        _W,
        _E,
        "A word mixes Latin letters with look-alikes of another script; they are replaced by the Latin letters.",
        "Such words imitate others: a Cyrillic letter in a brand's name cannot be seen.",
        "write the word in one script",
    ),
    # The body and the files, seen by `validate` and by the digest
    "body-not-utf-8": Kind(
        _W,
        _E,
        "The instructions are not UTF-8.",
        "They cannot be shown to a model as they are.",
        "save the file as UTF-8",
    ),
    "body-empty": Kind(
        _W,
        _W,
        "There are no instructions after the frontmatter.",
        "Activating the skill gives the model nothing to follow.",
        "write the instructions below the frontmatter",
    ),
    "body-too-long": Kind(
        _W,
        _W,
        "The instructions are longer than 500 lines or about 5,000 tokens.",
        "All of it enters the conversation at once when the skill is activated.",
        "move details into files under references/ and name them in the text",
    ),
    "skill-md-too-large": Kind(
        _W,
        _W,
        "The file is larger than the limit for a SKILL.md; it is cut when the skill is activated.",
        "A model would get only its beginning.",
        "move details into files under references/",
    ),
    "broken-reference": Kind(
        _W,
        _W,
        "The instructions link to a file that the skill does not have.",
        "The model will ask for it and get an error.",
        "add the file, or correct the link",
    ),
    "deep-reference": Kind(
        _I,
        _I,
        "A referenced file links to a further file.",
        "Models often read only a part of files behind files; one level deep works best.",
        "name the file in SKILL.md itself",
    ),
    "too-many-files": Kind(
        _E,
        _E,
        "The skill has more files or folders than the limit.",
        "A skill is copied and checked as a whole, so its size is bounded.",
        "remove what the skill does not need",
    ),
    "files-too-large": Kind(
        _E,
        _E,
        "The skill's files are larger than the limit.",
        "A skill is copied and checked as a whole, so its size is bounded.",
        "remove what the skill does not need",
    ),
    "file-unreadable": Kind(
        _E,
        _E,
        "A file or folder of the skill could not be read.",
        "What cannot be read cannot be checked, so the skill has no digest.",
        "make it readable by the user that runs Prowess, or remove it",
    ),
    "disk-error": Kind(
        _E,
        _E,
        "The disk, or the server behind it, failed while something was read.",
        "That says nothing about the skill: a copy that was made of it before stays in use until it can be read again.",
        "look after the disk, the network or the open files of this machine, and try again",
    ),
    "name-unfit": Kind(
        _E,
        _E,
        "A file of the skill has a path that no copy can have.",
        "It is too long, or the disk that holds copies refuses it or takes it for another file's.",
        "shorten the path or rename the file",
    ),
    "not-removable": Kind(
        _E,
        _E,
        "Something lies among the copies that cannot be removed.",
        "The system keeps it, as it does with a folder on which something is mounted; a sandbox may see it.",
        "unmount it, or remove it by hand",
    ),
    "keeps-changing": Kind(
        _E,
        _E,
        "Files of the skill were changed while they were read or copied, again and again.",
        "A copy is one whole version of a skill or none; one with half of a change would be neither.",
        "try again when the skill is settled",
    ),
    "key-taken": Kind(
        _E,
        _E,
        "The folder for the skill's copy is taken by another skill.",
        "Two ids that give one folder name would show a model one skill in place of another.",
        "rename the folder of one of the two skills",
    ),
    "id-without-key": Kind(
        _E,
        _E,
        "No folder can be named after the skill's id.",
        "A copy lies in a folder named after the id, in letters, digits, dots and hyphens.",
        "rename the skill's folder",
    ),
    "interpreter-missing": Kind(
        _W,
        _W,
        "A script needs an interpreter that the sandbox does not have.",
        "Scripts run in a sandbox, which has its own programs; what the host has besides does not count.",
        "install the interpreter where scripts run, or name its folder in execution.programs",
    ),
    "interpreter-unknown": Kind(
        _W,
        _W,
        "Nothing is known that runs this file.",
        "What runs a script follows from its first line (`#!`) or the ending of its name.",
        "give it a first line such as #!/usr/bin/env python3, or an ending such as .py, .sh or .js",
    ),
    "secret-name-refused": Kind(
        _W,
        _E,
        "A skill declares a secret under a name that no secret may have.",
        "Variables such as `PATH` or `LD_PRELOAD` steer the programs of a run; a skill must not set them.",
        "give the secret another name",
    ),
    "toolset-bad": Kind(
        _W,
        _E,
        "An entry of `toolsets` names no file of the skill with a class; it is left out.",
        "Only code in the skill's own folder is served, so a path that is absolute, has `..` or odd characters is "
        "refused.",
        "write it as toolsets/index:MyToolset, for the class MyToolset in toolsets/index.py",
    ),
    "script-metadata-bad": Kind(
        _W,
        _E,
        "A script's own metadata, between `# /// script` and `# ///`, cannot be used; the script is not run.",
        "It says which packages and which Python the script needs; run without them, it would fail halfway.",
        "correct the block: TOML in comment lines, with dependencies as a list of texts and requires-python as a text",
    ),
    "dependency-refused": Kind(
        _W,
        _E,
        "A script asks for a package in a way that is refused; the script is not run.",
        "Addresses, paths and options would be followed on the host; only names, versions and markers are taken.",
        "write the package as a name with versions, such as requests>=2.31,<3",
    ),
    "nested-skill": Kind(
        _I,
        _I,
        "A folder inside the skill is a skill of its own.",
        "Search stops at the outer SKILL.md, so the inner one is a resource and not listed.",
        "move it beside the outer skill if it should be found",
    ),
    # The source
    "source-missing": Kind(
        _I,
        _I,
        "A configured folder of skills does not exist.",
        "Nothing is found there until it is made.",
        "make the folder, or remove it from the settings",
    ),
    "source-unreadable": Kind(
        _W,
        _W,
        "A folder could not be searched.",
        "The system refused it; skills below it are not found.",
        "make the folder readable by the user that runs Prowess",
    ),
    "scan-too-deep": Kind(
        _W,
        _W,
        "Folders deeper than the limit were not searched.",
        "The depth is bounded so that a scan always ends.",
        "move the skills up, name their folder as a source of its own, or raise limits.max_depth",
    ),
    "scan-too-many-folders": Kind(
        _W,
        _W,
        "The search ended after the largest allowed number of folders.",
        "The number is bounded so that a scan always ends.",
        "name a smaller folder as the source, or raise limits.max_folders",
    ),
    "too-many-skills": Kind(
        _W,
        _W,
        "There are more skills than the limit; the rest is left out.",
        "The number is bounded by the settings.",
        "raise limits.max_skills, or remove skills",
    ),
    "link-not-followed": Kind(
        _W,
        _W,
        "A link was not followed.",
        "It leaves the project and every known root, leads nowhere, or the policy follows none.",
        "copy the folder, or name its target as a source",
    ),
    "reached-twice": Kind(
        _I,
        _I,
        "A folder was reached twice, by a link or through two roots; it counts once.",
        "Listing it twice would only waste room.",
        "nothing to do; remove the link if it is not wanted",
    ),
    "duplicate-name": Kind(
        _W,
        _W,
        "Another skill of the same name takes precedence.",
        "A name stands for one skill; the policy says which.",
        "rename one of them, or ask for this one by its id",
    ),
}
