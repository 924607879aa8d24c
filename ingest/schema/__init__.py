"""The schema of a probe document, as pydantic models.

A source writes JSON. `check.check_document` validates a whole document once, where it
enters (a file, or a probe of this or another machine), and returns a `ProbeDocument`.
Everything after that, such as `ingest.describe` and `ingest.conflict_resolution`, takes
these models and reads attributes, so that mypy knows each fact. A part that a source
did not give is an empty model, list or dict; a single value that is unknown is None.

The models cost no extra time, since the validation builds them anyway. Modules that
short commands such as `supertwin sample` load import this package only for type checks:
the import of pydantic takes a tenth of a second.
"""
