"""Errors of benchmarks; each message names the object and the fix."""

from core.errors import SuperTwinError, UserError


class NoCompilerError(UserError):
    """A host has no C compiler."""

    code = "no-compiler"


class CompileError(SuperTwinError):
    """A benchmark could not be compiled on a host."""

    code = "compile-failed"


class NotInstalledError(UserError):
    """A host lacks the program that a benchmark runs."""

    code = "benchmark-not-installed"


class BenchmarkSourceError(UserError):
    """A folder is not the source of a benchmark."""

    code = "bad-benchmark-source"


class BenchmarkFolderError(UserError):
    """A file system cannot be measured in this folder."""

    code = "bad-benchmark-folder"


class BenchmarkOutputError(UserError):
    """The output of a benchmark is incomplete, or is that of another program."""

    code = "bad-benchmark-output"


class BenchmarkMachineError(UserError):
    """The twin lacks a fact that a benchmark needs, such as the sizes of caches."""

    code = "benchmark-machine"


class MixError(UserError):
    """A loop cannot have this mix, or the mix of the run is not known."""

    code = "no-mix"


class NoSuchBenchmarkError(UserError):
    """No benchmark, or result of one, has this address."""

    code = "no-such-benchmark"
    status = 404


class NoBenchmarkError(UserError):
    """A host has no results of a benchmark."""

    code = "no-benchmark"
    status = 404


class PngError(UserError):
    """A drawing cannot be converted to PNG."""

    code = "no-png"
    status = 503
