"""Prints the CPUs of this process, or of each thread of an OpenMP library's team.

It is a file of its own because likwid-pin drops arguments that contain a space.
"""

import ctypes
import os
import sys


def team(name: str) -> list[list[int]]:
    """CPUs by thread number; ``name`` is libgomp's or libomp's."""
    library = ctypes.CDLL(name)
    found = {}

    def record_cpus(*_: object) -> None:
        found[library.omp_get_thread_num()] = sorted(os.sched_getaffinity(0))

    if "gomp" in name:
        work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(record_cpus)
        library.GOMP_parallel(work, None, 0, 0)
    else:
        kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(record_cpus)
        library.__kmpc_fork_call(None, 0, kernel)
    return [found[number] for number in sorted(found)]


if __name__ == "__main__":
    print(team(sys.argv[1]) if sys.argv[1:] else [sorted(os.sched_getaffinity(0))])
