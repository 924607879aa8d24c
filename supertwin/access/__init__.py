"""Who may do what: accounts of servers, tokens of people, commands that may run."""
