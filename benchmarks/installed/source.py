"""Builds HPCG from a source folder that the user names."""

from benchmarks.errors import BenchmarkSourceError, NoCompilerError
from benchmarks.installed.hpcg import SOURCE
from benchmarks.programs import FOLDER, Program, Target, build_failure, run_script

_NO_COMPILER, _NO_SOURCE = 66, 67
# Optimisation as in HPCG's own Make.Linux_MPI, for this processor.
FLAGS = ("-O3", "-ffast-math", "-march=native", "-DHPCG_NO_OPENMP")
# $1: FOLDER's `once`, $2: the source folder, then the flags. It is compiled again if a
# file of it changes.
_BUILD = f"""\
{FOLDER}
once=$1
cd -- "$2" 2>/dev/null && [ -f {SOURCE} ] || exit {_NO_SOURCE}
cxx=$(command -v mpicxx) || exit {_NO_COMPILER}
shift 2
set -e
version=$("$cxx" --version | head -n 1)
digest=$(cat src/*.cpp src/*.hpp | sha256sum | cut -c 1-16)
key=$(printf '%s' "$version $("$cxx" -show) $* $(grep -m 1 -E '^(flags|Features)' \\
  /proc/cpuinfo)" | cksum | cut -d ' ' -f 1)
set_folder "$digest-$key" xhpcg
if [ ! -x "$program" ]; then
  "$cxx" "$@" -I src -o "$program.$$" src/*.cpp
  mv "$program.$$" "$program"
fi
printf '%s\\n' "$program" "$version" "$digest"
"""


def built(source: str, target: Target) -> Program:
    """Compile HPCG on a host with mpicxx, from a folder on that host.

    It stays there as `compiled` says. Raises BenchmarkSourceError, and its errors.
    """
    words = ("sh", "-c", _BUILD, "sh", target.once, source, *FLAGS)
    status, out, err = run_script(words, b"", target)
    if status == _NO_SOURCE:
        raise BenchmarkSourceError(
            f"{source} on {target.host} is not a source folder of HPCG: it has no "
            f"{SOURCE}"
        )
    if status == _NO_COMPILER or "mpi.h: No such file" in err:
        raise NoCompilerError(
            f"{target.host} has no MPI compiler (mpicxx), which HPCG needs: `apt "
            "install g++ libopenmpi-dev`, or libmpich-dev"
        )
    lines = out.splitlines()
    if status or len(lines) != 3:
        raise build_failure("HPCG", target.host, err)
    return Program(lines[0], lines[1], FLAGS, lines[2])
