"""Syncs under a hostile world: kills, failing and full disks, readers, rivals, clocks and swapped links."""
