"""The copies on disk: verified versions of skills, placed where the model's code runs.

A *version* is the immutable files of one digest, kept once for all users. A *copy* is a version placed in a folder that
a sandbox sees, by hard link where the disk allows. A *root* is such a folder: it is mounted, so it is never replaced,
and nothing but copies lies in it; locks, staging and books are kept elsewhere. `plan_sync` decides what must change and
a `CopyRoot` carries it out. Imported by the runtime and the surfaces; imports catalog and below.
"""
