"""The commands, one module each, named in `prowess.surfaces.cli.main`."""
