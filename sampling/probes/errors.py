"""The exceptions of probes; every message is one line that names the thing and the fix.

UserError
└── ProbeError              a probe that cannot be added, changed or removed
    ├── ProbeTargetError    the binary has nothing of this name to probe
    ├── ProbeArgumentError  an argument that cannot be read
    ├── ProbeRefusedError   the kernel or its verifier refuses the probe
    ├── ProbeCostError      the probe would cost more than is allowed
    ├── ProbeExistsError    another probe has this name
    └── NoSuchProbeError    no probe has this name
"""

from core.errors import UserError


class ProbeError(UserError):
    """A probe that cannot be carried out."""

    code = "bad-code-probe"


class ProbeTargetError(ProbeError):
    """The binary has nothing of this name that can be probed."""

    code = "no-probe-target"


class ProbeArgumentError(ProbeError):
    """An argument of a function or event that cannot be read."""

    code = "no-probe-argument"


class ProbeRefusedError(ProbeError):
    """The kernel refuses a probe."""

    code = "code-probe-refused"


class ProbeCostError(ProbeError):
    """A probe would cost more than is allowed."""

    code = "code-probe-too-costly"


class ProbeExistsError(ProbeError):
    """Another probe has this name."""

    code = "code-probe-exists"


class NoSuchProbeError(ProbeError):
    """No probe has this name."""

    code = "no-such-code-probe"
