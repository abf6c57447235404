#!/bin/sh
# Prints a fixed marker and its arguments, one a line: proof that a skill's script ran.

if [ "$#" -eq 1 ] && [ "$1" = "--help" ]; then
    echo "usage: echo.sh [ARGUMENT...]"
    echo "Prints the marker of this script, the number of arguments, and each argument."
    exit 0
fi

printf 'MARKER: %s\n' 'PROWESS_VALIDATION_SCRIPT_55A8'
printf 'ARGUMENTS: %d\n' "$#"
for argument in "$@"; do
    printf 'ARGUMENT: %s\n' "$argument"
done
