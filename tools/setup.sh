#!/bin/sh
# Makes .venv with pinned dependencies, and installs system packages where this user may. Safe to run again.
set -eu

PYTHON=${PYTHON:-python3}

say() { printf '%s\n' "$*" >&2; }

apt_install() {
    if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" -ne 0 ]; then
        return 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update && apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@" >/dev/null
}

# System packages: what is missing is named, and the tests that need it say so too.
missing=""
while read -r package; do
    if ! dpkg -s "$package" >/dev/null 2>&1; then
        missing="$missing $package"
    fi
done < requirements/debian.txt
if [ -n "$missing" ]; then
    say "installing$missing"
    # shellcheck disable=SC2086
    apt_install $missing || say "could not install$missing; install them by hand for everything to work"
fi

if [ ! -x .venv/bin/python ]; then
    rm -rf .venv
    if ! "$PYTHON" -m venv .venv >/dev/null 2>&1; then
        rm -rf .venv
        version=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        say "installing python$version-venv"
        apt_install "python$version-venv" || { say "python3 -m venv does not work; install python3-venv"; exit 1; }
        "$PYTHON" -m venv .venv
    fi
fi

.venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { say "Python 3.11 or newer is needed"; exit 1; }
.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
