"""SuperTwin: settings, command line and the supervisor of the local stack."""
