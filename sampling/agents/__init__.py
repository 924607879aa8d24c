"""PCP agents that run on demand, each in a private PMCD, local or remote."""
