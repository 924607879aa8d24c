"""The command line of SuperTwin and the supervisor of the local stack."""
