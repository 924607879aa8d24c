"""Compiles the programs of `kernels/` on the machine that is to run them."""

import hashlib
import os
import shlex
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import (
    BenchmarkMachineError,
    CompileError,
    NoCompilerError,
    NotInstalledError,
)
from core.errors import DiskFullError, SuperTwinError
from core.linux.ssh.address import Address
from core.linux.ssh.client import OPTIONS, Ssh, ssh_argv
from core.linux.ssh.reasons import explain, printable

_KERNELS = Path(__file__).parent / "kernels"
_NO_COMPILER, _SSH_FAILED = 66, 255
# HPCG has 30 files.
_SECONDS, _GRACE = 600.0, 5.0
_COMPILERS = {"cc": "C compiler", "mpicc": "MPI compiler (mpicc)"}
# mpicc alone, without what programs need for compilation.
_NO_MPI = "mpi.h: No such file"
_FULL = "No space left"
# Sets `folder` to that of a program, by its key, and `program` to its path. A host
# where nothing may stay has one for each time, with the compiler's own files. Folders
# of benchmarks that were killed are removed a day later.
FOLDER = """\
stop() {
  echo "error: $1" >&2
  exit 1
}
set_folder() {
  if [ "$once" ]; then
    [ "$HOME" ] || stop "HOME is empty: set it to a folder"
    find "$HOME" -maxdepth 1 -name '.supertwin-bench-*' -mtime +0 -exec rm -rf {} +
    folder=$(mktemp -d "$HOME/.supertwin-bench-XXXXXX") ||
      stop "cannot write to $HOME: set HOME to another folder"
    export TMPDIR=$folder
    trap '[ -x "$program" ] || rm -rf "$folder"' EXIT
  else
    cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
    case $cache in
      /*) ;;
      *) stop "the cache '$cache' has no absolute path: set XDG_CACHE_HOME" ;;
    esac
    folder=$cache/supertwin/benchmarks/$1
    [ -x "$folder/$2" ] || { mkdir -p "$folder" && [ -w "$folder" ]; } ||
      stop "cannot write to $cache: set XDG_CACHE_HOME to another folder"
  fi
  program=$folder/$2
}
"""
_REMOVE = """\
case ${1%/*} in
  "$HOME"/.supertwin-bench-*) rm -rf "${1%/*}" ;;
esac
"""
# $1: FOLDER's `once`, $2: digest of the source, $3: its name, $4: the compiler, then
# flags. The program is compiled again for another compiler, or another processor, which
# may share the folder. It is moved to its name when it is complete. CC may have options
# after the program; it is printed if it names no program.
_BUILD = f"""\
{FOLDER}
once=$1
split() {{
  cc=$1
  shift
  options=$*
}}
case $4 in
  cc) given=$CC ;;
  *) given= ;;
esac
named=${{given:-$4}}
set -f
split $named
cc=$(command -v "$cc") || {{ printf '%s\\n' "$given"; exit {_NO_COMPILER}; }}
set -e
# A link such as cc does not say which compiler it is; mpicc says what it calls, and
# must be called by its own name.
case $4 in
  cc) cc=$(readlink -f "$cc") calls= ;;
  *) calls=$("$cc" -show) ;;
esac
version=$("$cc" --version | head -n 1)
processor=$(grep -m 1 -E '^(flags|Features)' /proc/cpuinfo)
key=$(printf '%s' "$2 $version $options $calls $processor" | cksum | cut -d ' ' -f 1)
set_folder "$2-$key" "$3"
shift 4
if [ ! -x "$program" ]; then
  "$cc" $options -x c "$@" -o "$program.$$" - -lm -ldl && [ -x "$program.$$" ] || {{
    rm -f "$program.$$"
    stop "$named made no program: check that it is a C compiler"
  }}
  mv "$program.$$" "$program"
fi
printf '%s\\n' "$program" "$version"
"""
# A name with a star is a list of patterns, and one of them must match.
_MISSING = """\
has() {
  command -v "$1" >/dev/null && return
  case $1 in
    *'*'*) for each in $1; do [ ! -e "$each" ] || return 0; done ;;
  esac
  return 1
}
for name; do has "$name" || echo "$name"; done
"""
# Where Debian's alternatives and Intel's installer put libraries.
BLAS = (
    "/usr/lib/*/*/libblas.so.3",
    "/usr/lib/*/libmkl_rt.so",
    "/opt/intel/oneapi/mkl/latest/lib/libmkl_rt.so.2",
)
ANY_BLAS = " ".join(BLAS)
FFTW = ("/usr/lib/*/libfftw3.so.3", "/usr/lib64/libfftw3.so.3")
ANY_FFTW = " ".join(FFTW)
_LIBRARIES = {ANY_BLAS: "BLAS library", ANY_FFTW: "FFTW"}
# How each program is installed on Debian.
_INSTALL = {
    ANY_BLAS: "`apt install libopenblas0-pthread`",
    ANY_FFTW: "`apt install libfftw3-double3`",
    "cc": "`apt install gcc`",
    "mpicc": "`apt install libopenmpi-dev`, or libmpich-dev",
    "mpirun": "`apt install openmpi-bin`, or mpich",
    "fio": "`apt install fio`",
    "hpcc": "`apt install hpcc`",
    "xhpcg": "build HPCG, and name it with --program, or its source with --source",
}


@dataclass(frozen=True)
class Target:
    """Where programs are compiled: a host, by ssh if it has an address.

    ``config`` is ssh's configuration. ``before`` are words that start a command there,
    such as srun's.
    """

    host: str
    address: Address | None = None
    config: Path | None = None
    before: tuple[str, ...] = ()

    @property
    def once(self) -> str:
        """A word if programs do not stay there: on all but this machine."""
        return "once" if self.address or self.before else ""


@dataclass(frozen=True)
class Program:
    """A compiled program, with what it was compiled from and by.

    All is empty for a program that was installed.
    """

    path: str = ""
    compiler: str = ""
    flags: tuple[str, ...] = ()
    digest: str = ""


def source_of(name: str) -> bytes:
    """Return the source of a program, with what all programs share in front."""
    shared = (_KERNELS / "team.h").read_text()
    own = (_KERNELS / f"{name}.c").read_text()
    return (shared + own.replace('#include "team.h"\n', "")).encode()


def compiled(
    name: str, flags: Sequence[str], target: Target, compiler: str = "cc"
) -> Program:
    """Compile a program on a host.

    On this machine, it stays in the cache of the user that compiles it, so the next
    call is quick; elsewhere, `remove` removes it. Raises NoCompilerError, CompileError,
    DiskFullError, SshMissingError and SshNotStartedError.
    """
    source = source_of(name)
    digest = hashlib.sha256(source + "\0".join(flags).encode()).hexdigest()[:16]
    words = ("sh", "-c", _BUILD, "sh", target.once, digest, name, compiler, *flags)
    status, out, err = run_script(words, source, target)
    if status == _NO_COMPILER or _NO_MPI in err:
        raise _no_compiler(name, target.host, compiler, out.strip())
    lines = out.splitlines()
    if status or len(lines) != 2:
        raise build_failure(name, target.host, err)
    return Program(lines[0], lines[1], tuple(flags), digest)


def _no_compiler(name: str, host: str, compiler: str, given: str) -> NoCompilerError:
    """Return the error for a missing compiler; ``given`` is what CC names."""
    if given:
        return NoCompilerError(
            f"CC is {printable(given)[:300]!r}, which is not a program on {host}: "
            f"set CC to a C compiler, or unset it; {name} needs one"
        )
    return NoCompilerError(
        f"{host} has no {_COMPILERS[compiler]}, which {name} needs: "
        f"{_INSTALL[compiler]}"
    )


def build_failure(name: str, host: str, err: str) -> SuperTwinError:
    """Return the error for what a compiler, or srun, printed."""
    lines = err.splitlines()
    if full := next((line for line in lines if _FULL in line), ""):
        return DiskFullError(
            f"{host} has no room to compile {name} ({printable(full)[:300]}): free some"
        )
    reason = next((line for line in lines if "error" in line), (lines or [""])[-1])
    reason = printable(reason.removeprefix("error: "))[:300]
    return CompileError(f"{name} cannot be compiled on {host}: {reason}")


def remove(program: Program, target: Target) -> None:
    """Remove a compiled program from a host where nothing stays."""
    if program.digest and target.once:
        run_script(("sh", "-c", _REMOVE, "sh", program.path), b"", target)


def check_installed(names: Sequence[str], target: Target) -> None:
    """Raise NotInstalledError if a host lacks one of some programs.

    Raises BenchmarkMachineError if it does not say which ones it has.
    """
    words = ("sh", "-c", _MISSING, "sh", *names)
    status, out, err = run_script(words, b"", target)
    if status:
        reason = printable(err.removeprefix("error: "))
        raise BenchmarkMachineError(
            f"{target.host} does not list its programs: {reason}"
        )
    if lines := out.splitlines():
        name = lines[0]
        called = _LIBRARIES.get(name, printable(name)[:300])
        fix = _INSTALL.get(name, "install it, or name another one")
        raise NotInstalledError(f"{target.host} has no {called}: {fix}")


def run_script(
    words: Sequence[str], source: bytes, target: Target
) -> tuple[int, str, str]:
    """Run a short command on a host.

    Returns its exit status, its standard output and the end of its standard error.
    Raises SshMissingError and SshNotStartedError.
    """
    if target.address and not target.before:
        return _run_there(words, source, target.address, target.config)
    return _run_here((*target.before, *words), source)


def _run_here(words: Sequence[str], source: bytes) -> tuple[int, str, str]:
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603
        words, stdin=pipe, stdout=pipe, stderr=pipe, process_group=0
    ) as process:
        try:
            out, err = process.communicate(source, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            return 1, "", f"error: it did not end within {_SECONDS:.0f} s"
        finally:
            _end(process)
    return process.returncode, _text(out), _text(err)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command that still runs, with what it started, such as a compiler."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            if process.poll() is None:
                os.killpg(process.pid, number)
                process.wait(_GRACE)


def _run_there(
    words: Sequence[str], source: bytes, address: Address, config: Path | None
) -> tuple[int, str, str]:
    remote = f"exec {shlex.join(words)}"
    ssh = Ssh((*ssh_argv(address, config, OPTIONS), remote), address, source)
    try:
        assert ssh.process.stdout  # noqa: S101
        out = _text(ssh.process.stdout.read())
        status = ssh.wait(_SECONDS)
        lines = ssh.last_lines()
    finally:
        ssh.end()
    if status == _SSH_FAILED:
        return status, "", f"error: {explain(address, lines)}"
    return 1 if status is None else status, out, "\n".join(lines)


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")
