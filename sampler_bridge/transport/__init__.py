"""How the PMCD of a host is reached."""
