"""The command line: `prowess COMMAND`.

`main` starts quickly and loads a command only when it is called; `invocation` holds what the general options say,
`output` prints for people and for programs. One module a command in `commands`.
"""
