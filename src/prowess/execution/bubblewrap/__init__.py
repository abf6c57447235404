"""Bubblewrap as a sandbox.

`bubblewrap_arguments` is what it is told, `bubblewrap_sandbox` how a job goes. Memory and processes of a whole run are
bounded by `control_groups`, or by a `watchdog` where none can be made.
"""
