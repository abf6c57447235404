#!/bin/sh
# Fuzzes folder shapes with Hypothesis, then the reader with atheris in an environment of its own, with a corpus that is
# kept in .fuzz between runs.
set -eu

ENVIRONMENT=.fuzz/venv
if [ ! -x "$ENVIRONMENT/bin/python" ]; then
    .venv/bin/python -m venv "$ENVIRONMENT"
    "$ENVIRONMENT/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/fuzz.txt
fi
FUZZ_EFFORT="${FUZZ_EFFORT:-20}" .venv/bin/python -m pytest -q -n 2 tests/catalog/test_folder_shapes.py
mkdir -p .fuzz/corpus .fuzz/crashes
PYTHONPATH=src exec "$ENVIRONMENT/bin/python" tools/fuzz_reader.py .fuzz/corpus \
    -max_total_time="${FUZZ_SECONDS:-300}" -max_len=4096 -timeout=5 -rss_limit_mb=1024 -artifact_prefix=.fuzz/crashes/
