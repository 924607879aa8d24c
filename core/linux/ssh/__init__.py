"""Logins on remote machines with the system's ssh: addresses, options, errors."""
