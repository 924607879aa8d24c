"""Who may call the API, from where, and under which path."""
