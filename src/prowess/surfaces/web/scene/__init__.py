"""A conversation as a person sees it: blocks, how events become them, and their HTML."""
