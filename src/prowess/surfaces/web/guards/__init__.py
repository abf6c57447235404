"""What stands before every request: hosts and origins, the login, limits, headers, and failures told well."""
