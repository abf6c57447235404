"""How people and programs reach a Runtime. Each surface holds a Runtime and nothing deeper."""
