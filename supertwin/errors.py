"""Errors of commands and of the stack that the user can fix."""

from core.errors import SuperTwinError, UserError


class PortTakenError(UserError):
    """Another process listens at a port of the stack."""

    code = "port-taken"


class CannotListenError(UserError):
    """The stack cannot listen at an address or port."""

    code = "cannot-listen"


class StackRunsError(UserError):
    """The stack runs, and must be stopped first."""

    code = "stack-runs"


class OtherUserError(UserError):
    """The stack runs as another user."""

    code = "other-user"


class StopError(SuperTwinError):
    """The stack does not stop."""

    code = "stop-failed"


class UnhealthyError(SuperTwinError):
    """A service does not work."""

    code = "unhealthy"


class DamagedDatasetError(UserError):
    """A dataset of Fuseki is damaged."""

    code = "dataset-damaged"


class CompactionError(SuperTwinError):
    """A dataset of Fuseki could not be compacted."""

    code = "compaction-failed"


class BuildError(UserError):
    """Fuseki's extension, or the archive of its classes, cannot be built."""

    code = "build-failed"


class BackupExistsError(UserError):
    """The folder for a backup exists."""

    code = "backup-exists"


class BackupError(UserError):
    """A folder is not a backup, or its files were damaged."""

    code = "bad-backup"


class HomeNotEmptyError(UserError):
    """The state folder is not empty."""

    code = "state-folder-not-empty"


class RestoreError(SuperTwinError):
    """A dataset of a backup could not be loaded."""

    code = "restore-failed"


class ReasoningError(UserError):
    """The ontology cannot be classified."""

    code = "not-classified"
