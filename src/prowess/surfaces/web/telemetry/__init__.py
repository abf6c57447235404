"""What the operator of a server sees: metrics, logs and traces."""
