"""Errors of benchmarks; each message names the object and the fix."""

from core.errors import SuperTwinError, UserError


class NoCompilerError(UserError):
    """A host has no C compiler."""

    code = "no-compiler"


class CompileError(SuperTwinError):
    """A benchmark could not be compiled on a host."""

    code = "compile-failed"


class BenchmarkMachineError(UserError):
    """The twin lacks a fact that a benchmark needs, such as the sizes of caches."""

    code = "benchmark-machine"


class NoBenchmarkError(UserError):
    """A host has no results of a benchmark."""

    code = "no-benchmark"
    status = 404
