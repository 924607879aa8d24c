"""Getting in on another machine with the system's ssh: addresses, options, reasons."""
