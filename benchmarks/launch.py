"""Shell scripts that start benchmarks: by mpirun, and in a folder of their own."""

from collections.abc import Sequence
from dataclasses import dataclass

# Open MPI refuses root by default, binds ranks by itself, and may see fewer slots than
# the CPUs that the ranks were pinned to. MPICH does not.
_MPIRUN = """\
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
case $(mpirun --version 2>&1) in
  *'Open MPI'*|*OpenRTE*|*Open-MPI*) options='--bind-to none --oversubscribe' ;;
  *) options= ;;
esac
"""
_RANKS = f"""\
{_MPIRUN}
# Not quoted: these are several words.
exec mpirun $options -np "$@"
"""
# $1: processes, $2: bytes of memory, $3: the program, $4: its input and $5 the name of
# that file, $6: a pattern of its output's name. A program that fails prints nothing.
_IN_A_FOLDER = f"""\
set -e
free=$(sed -n 's/^MemAvailable: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo)
if [ "$2" -gt $((${{free:-0}} * 1024)) ]; then
  echo "the processes need $(($2 / 1000000)) MB of memory, but only" \\
    "$((${{free:-0}} * 1024 / 1000000)) MB are available:" \\
    "stop other programs, or measure fewer threads" >&2
  exit 3
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
printf '%s' "$4" > "$5"
{_MPIRUN}
mpirun $options -np "$1" "$3" >&2
cat $6
"""


@dataclass(frozen=True)
class FileRun:
    """A program that reads its input from a file, and writes a file with its results.

    ``memory`` is about how many bytes all its processes need; ``output`` is a pattern.
    """

    program: str
    memory: int
    input: str
    input_name: str
    output: str


def by_mpirun(processes: int) -> list[str]:
    """Return the words to put before a program that is to run as some processes."""
    return ["sh", "-c", _RANKS, "sh", str(processes)]


def in_a_folder(run: FileRun, processes: int) -> Sequence[str]:
    """Return the command that runs a program by mpirun and prints its results."""
    words = (run.program, run.input, run.input_name, run.output)
    first = (str(processes), str(run.memory))
    return ["sh", "-c", _IN_A_FOLDER, "sh", *first, *words]
