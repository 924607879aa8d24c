"""What sampling costs on a machine: measured, fitted, predicted for a plan."""
