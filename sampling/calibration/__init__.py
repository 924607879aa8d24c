"""What sampling costs on this machine, measured on a private stack."""
