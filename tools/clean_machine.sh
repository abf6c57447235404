#!/bin/sh
# Proves the two commands on a clean machine: a Debian with Python, make and git, and nothing else, in a folder of its own.
#
#   sh tools/clean_machine.sh         `make run`, until the page answers
#   sh tools/clean_machine.sh test    `make test`; PYTEST_ADDOPTS chooses among the tests
#   sh tools/clean_machine.sh both    one after the other
#   sh tools/clean_machine.sh image   the Dockerfile, with the clean machine as its base, until the container is healthy
#
# It takes what is committed. It needs root, debootstrap, git and 6 GB in TMPDIR (and for the image docker.io), and removes
# all that it has made; SUITE and MIRROR name another Debian. Where packages come from is this machine's business: its settings of apt and pip, its
# certificates and its name servers are lent to the clean one (but no passwords).
set -eu

SUITE=${SUITE:-bookworm}
WHAT=${1:-run}

say() { printf '%s\n' "clean machine: $*" >&2; }
fail() { say "$*"; exit 1; }

case $WHAT in
    run | test | both | image) ;;
    *) fail "say run, test, both or image" ;;
esac
[ "$(id -u)" -eq 0 ] || fail "only root can make one"
for program in debootstrap git unshare pivot_root; do
    command -v "$program" >/dev/null || fail "$program is not installed; apt-get install debootstrap git util-linux"
done

PROJECT=$(cd "$(dirname "$0")/.." && pwd)
FOLDER=$(mktemp -d "${TMPDIR:-/var/tmp}/prowess-clean-machine.XXXXXX")
MACHINE=$FOLDER/machine

# Whatever is mounted there is mounted in a namespace that is gone by now; the option is for the day when that is not so.
CHILD=
trap 'rm -rf --one-file-system "$FOLDER"' EXIT
trap '[ -z "$CHILD" ] || kill -KILL "$CHILD"; wait; exit 130' INT TERM HUP

find_mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
        awk '$1 == "URIs:" || $1 == "deb" { for (i = 2; i <= NF; i++) if ($i ~ /^https?:/) { print $i; exit } }'
}

make_machine() {
    say "making a $SUITE in $MACHINE"
    debootstrap --variant=minbase --include="$1" "$SUITE" "$MACHINE" \
        ${MIRROR:-$(find_mirror)} >"$FOLDER/log" 2>&1 || { tail -n 20 "$FOLDER/log" >&2; fail "debootstrap failed"; }
}

# Copies a file or folder to the same place in the machine, if there is one.
lend() {
    if [ -e "$1" ]; then
        mkdir -p "$MACHINE$(dirname "$1")"
        cp -RL "$1" "$MACHINE$(dirname "$1")/"
    fi
}

lend_settings() {
    if [ "$SUITE" = "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" ] && [ -e /etc/apt/sources.list.d/debian.sources ]; then
        rm -f "$MACHINE/etc/apt/sources.list"
        lend /etc/apt/sources.list.d/debian.sources
    fi
    lend /etc/apt/apt.conf.d
    lend /etc/resolv.conf
    lend /etc/hosts
    lend /etc/pip.conf
    lend /root/.config/pip/pip.conf
    lend /usr/local/share/ca-certificates
}

# Folders of this machine that pip is told to look into.
local_indexes() {
    cat /etc/pip.conf /root/.config/pip/pip.conf 2>/dev/null | grep -E '^ *(find-links|index-url|extra-index-url) *=' |
        tr ' =' '\n\n' | sed -n 's#^file://##; s#/simple/*$##; /^\//p' | sort -u
}

# Runs a command with processes and mounts of its own, all of which are gone when it ends.
apart() {
    exec 3<&0
    unshare --mount --pid --fork --kill-child --mount-proc --propagation private "$@" <&3 &
    CHILD=$!
    wait "$CHILD"
    CHILD=
    exec 3<&-
}

# Runs a command in the machine: with its own root, processes and mounts, and with this machine's network and devices.
# With a mere chroot no sandbox could start: Linux makes no user namespaces there.
inside() {
    apart env --default-signal=INT,QUIT -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        INDEXES="$(local_indexes)" MACHINE="$MACHINE" PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-}" \
        SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt sh -euc '
            mount --bind "$MACHINE" "$MACHINE"
            for folder in /dev /sys; do
                mount --rbind "$folder" "$MACHINE$folder"
            done
            for folder in $INDEXES; do
                [ -d "$folder" ] || continue
                mkdir -p "$MACHINE$folder"
                mount --bind -o ro "$folder" "$MACHINE$folder"
            done
            mount -t proc proc "$MACHINE/proc"
            mount -t tmpfs tmpfs "$MACHINE/run"
            cd "$MACHINE"
            pivot_root . mnt
            umount -l /mnt
            unset INDEXES MACHINE
            cd /root
            [ ! -d prowess ] || cd prowess
            # Not in place of this shell, which buries orphans, as the first process of a machine has to.
            "$@" || exit $?
            exit 0' inside "$@"
}

# Starts `make run` on any free port, asks for the page as a browser would, and ends it.
make_run() {
    inside python3 - <<'PYTHON'
import http.cookiejar
import socket
import subprocess
import sys
import urllib.request

with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
server = subprocess.Popen(["make", "--no-print-directory", "run", f"PORT={port}"], stdout=subprocess.PIPE, text=True)
address = next((line.strip() for line in server.stdout if line.startswith("http://")), "")
if not address:
    sys.exit(f"make run ended with {server.wait()} before it served anything")
browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
browser.open(address, timeout=60).close()
with browser.open(f"http://127.0.0.1:{port}/", timeout=60) as answer:
    page = answer.read().decode()
server.terminate()
server.wait(60)
if 'rel="stylesheet"' not in page:
    sys.exit(f"the page is not there: {page[:300]}")
print(f"clean machine: make run serves the page ({len(page)} characters)", file=sys.stderr)
PYTHON
}

make_test() {
    inside make test
    say "make test passes${PYTEST_ADDOPTS:+ for $PYTEST_ADDOPTS}"
}

# Builds the image in an engine of its own, and waits until a container of it calls itself healthy. That one has no network.
make_image() {
    mkdir "$FOLDER/docker"
    tar -C "$MACHINE" --one-file-system -cf "$FOLDER/machine.tar" .
    apart env FOLDER="$FOLDER" sh -euc '
        cd "$FOLDER/docker"
        export DOCKER_HOST="unix://$PWD/socket" DOCKER_CONFIG="$PWD/config" DOCKER_BUILDKIT=0
        wait_for() {
            tries=0
            until "$@" >/dev/null 2>&1; do
                tries=$((tries + 1))
                [ "$tries" -lt 600 ] || { tail -n 20 log >&2; exit 1; }
                sleep 0.1
            done
        }
        is_healthy() { [ "$(docker inspect --format "{{.State.Health.Status}}" trial)" = healthy ]; }
        dockerd --host "$DOCKER_HOST" --data-root "$PWD/data" --exec-root "$PWD/exec" --pidfile "$PWD/pid" \
            --iptables=false --ip6tables=false --bridge=none --storage-driver=overlay2 >log 2>&1 &
        wait_for docker version
        docker import "$FOLDER/machine.tar" clean-machine >/dev/null
        docker build --network host --build-arg PYTHON_IMAGE=clean-machine --tag prowess "$FOLDER/project" >>log 2>&1 ||
            { tail -n 40 log >&2; exit 1; }
        docker run --detach --name trial --network none prowess >/dev/null
        wait_for is_healthy
        docker exec trial sh -c "id -un && prowess --version && prowess list" >&2
        docker stop trial >/dev/null
        [ "$(docker inspect --format "{{.State.ExitCode}}" trial)" = 0 ] || { docker logs trial >&2; exit 1; }'
    say "the image is built, and its container is healthy and ends in good order"
}

if [ "$WHAT" = image ]; then
    make_machine ca-certificates,python3,python3-venv
    clone=$FOLDER/project
else
    make_machine ca-certificates,git,make,python3
    clone=$MACHINE/root/prowess
fi
lend_settings
git clone --quiet --no-hardlinks "$PROJECT" "$clone"
inside update-ca-certificates >/dev/null 2>&1
case $WHAT in
    run) make_run ;;
    test) make_test ;;
    both) make_run; make_test ;;
    image) make_image ;;
esac
