"""Builds HPCG from a source folder that the user names."""

from pathlib import Path

from benchmarks.errors import BenchmarkSourceError, CompileError, NoCompilerError
from benchmarks.installed.hpcg import SOURCE
from benchmarks.programs import Program, run_script
from core.linux.ssh.address import Address
from core.linux.ssh.reasons import printable

_NO_COMPILER, _NO_SOURCE = 66, 67
# Optimisation as in HPCG's own Make.Linux_MPI, for this processor.
FLAGS = ("-O3", "-ffast-math", "-march=native", "-DHPCG_NO_OPENMP")
# $1: the folder, then the flags. It is compiled again if a file of it changes.
_BUILD = f"""\
cd -- "$1" 2>/dev/null && [ -f {SOURCE} ] || exit {_NO_SOURCE}
cxx=$(command -v mpicxx) || exit {_NO_COMPILER}
shift
set -e
version=$("$cxx" --version | head -n 1)
digest=$(cat src/*.cpp src/*.hpp | sha256sum | cut -c 1-16)
key=$(printf '%s' "$version $("$cxx" -show) $* $(grep -m 1 -E '^(flags|Features)' \\
  /proc/cpuinfo)" | cksum | cut -d ' ' -f 1)
folder=${{XDG_CACHE_HOME:-$HOME/.cache}}/supertwin/benchmarks/$digest-$key
if [ ! -x "$folder/xhpcg" ]; then
  mkdir -p "$folder"
  "$cxx" "$@" -I src -o "$folder/xhpcg.$$" src/*.cpp
  mv "$folder/xhpcg.$$" "$folder/xhpcg"
fi
printf '%s\\n' "$folder/xhpcg" "$version" "$digest"
"""


def built(
    source: str, host: str, address: Address | None, config: Path | None
) -> Program:
    """Compile HPCG on a host with mpicxx, from a folder on that host.

    It stays in the cache of the user that compiles it. Raises BenchmarkSourceError,
    NoCompilerError, CompileError, SshMissingError and SshNotStartedError.
    """
    words = ("sh", "-c", _BUILD, "sh", source, *FLAGS)
    status, out, err = run_script(words, b"", address, config)
    if status == _NO_SOURCE:
        raise BenchmarkSourceError(
            f"{source} on {host} is not a source folder of HPCG: it has no {SOURCE}"
        )
    if status == _NO_COMPILER or "mpi.h: No such file" in err:
        raise NoCompilerError(
            f"{host} has no MPI compiler (mpicxx), which HPCG needs: `apt install g++ "
            "libopenmpi-dev`, or libmpich-dev"
        )
    lines = out.splitlines()
    if status or len(lines) != 3:
        reason = next((line for line in err.splitlines() if "error" in line), err)
        raise CompileError(
            f"HPCG cannot be compiled on {host}: {printable(reason)[:300]}"
        )
    return Program(lines[0], lines[1], FLAGS, lines[2])
