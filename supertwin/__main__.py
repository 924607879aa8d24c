"""``python -m supertwin`` is the same as the command ``supertwin``."""

from supertwin.cli.main import main

if __name__ == "__main__":
    main(prog_name="supertwin")
