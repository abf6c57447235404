"""The kernel's table of mounts is read in one place, with every path as it is."""

import os

from prowess.sources.mount_points import MountPoint, parse_mount_points, read_mount_points

_LINES = r"""22 1 0:21 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:33 /a\040b /mnt/with\040blank,\011tab,\012line,\134back\043hash rw - nfs4 server:/x rw
41 22 0:34 /@home /home rw shared:2 master:1 - fuse.sshfs me@far:/ rw
42 22 0:35 / /mnt/café rw - tmpfs tmpfs rw
no line of a table
"""


def test_paths_of_a_mount_table_are_unescaped() -> None:
    assert parse_mount_points(_LINES) == [
        MountPoint("/", "/", "ext4"),
        MountPoint("/mnt/with blank,\ttab,\nline,\\back#hash", "/a b", "nfs4"),
        MountPoint("/home", "/@home", "fuse.sshfs"),
        MountPoint("/mnt/café", "/", "tmpfs"),
    ]


def test_what_looks_like_an_escape_in_an_escaped_path_is_left_alone() -> None:
    assert parse_mount_points(r"1 0 0:1 / /a\134040b rw - ext4 x rw")[0].place == r"/a\040b"


def test_own_table_names_the_root_and_one_that_cannot_be_read_names_nothing() -> None:
    assert "/" in [mount.place for mount in read_mount_points()]
    assert read_mount_points(str(os.getpid())) == read_mount_points()
    assert read_mount_points("none") == []
