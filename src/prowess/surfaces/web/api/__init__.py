"""The HTTP interface: a table of operations, the OpenAPI document made from it, and the handlers."""
