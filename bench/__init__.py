"""Benchmarks: Prowess beside its peers and beside the physical floor, in one run, as ratios.

Run from the project's root as `python -m bench.discovery`. Nothing in the package imports this folder.
"""
