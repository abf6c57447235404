"""The one file that a sandbox is shown for toolsets. It is seen there as a folder of modules, not as this package."""
