"""A program that calls functions and USDT probes as often as it is told."""

import subprocess
from pathlib import Path
from typing import Self

from sampling.probes.changes import checked
from sampling.probes.definition import CodeProbe, parse_target
from tests.servers import ENDS_WITH_US

# The notes are what DTRACE_PROBE(demo, begin) of <sys/sdt.h> writes.
SOURCE = r"""
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define NOTE(name) __asm__ volatile( \
    "990: nop\n.pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n" \
    ".4byte 992f-991f,994f-993f,3\n991: .asciz \"stapsdt\"\n992: .balign 4\n" \
    "993: .8byte 990b,0,0\n.asciz \"demo\"\n.asciz \"" name "\"\n.asciz \"\"\n" \
    "994: .balign 4\n.popsection\n")
#define SENT(in_register, in_memory) __asm__ volatile( \
    "990: nop\n.pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n" \
    ".4byte 992f-991f,994f-993f,3\n991: .asciz \"stapsdt\"\n992: .balign 4\n" \
    "993: .8byte 990b,0,0\n.asciz \"demo\"\n.asciz \"sent\"\n" \
    ".asciz \"-4@%0 8@%1 -4@%2 8f@%%xmm0\"\n994: .balign 4\n.popsection\n" \
    : : "r"(in_register), "m"(in_memory), "i"(-7))
__attribute__((noinline))
long sized(double scale, int size, const char *text, long more)
{
    volatile unsigned long big = more;
    SENT(size, big);
    return scale > 0 ? size : *text;
}
static inline __attribute__((always_inline)) int hidden_step(int n)
{
    return n * 3 + 1;
}
__attribute__((noinline)) void work(void) { __asm__ volatile(""); }
__attribute__((noinline)) void pause_ms(void)
{
    struct timespec time = {0, 1000000};
    nanosleep(&time, NULL);
}
__attribute__((noinline)) void nested(int depth)
{
    if (depth)
        nested(depth - 1);
    __asm__ volatile("");
}
static jmp_buf before;
static char answer;
__attribute__((noinline)) void leaves(int how)
{
    if (how == 'j')
        longjmp(before, 1);
    if (how == 'q')
        pthread_exit(NULL);
    if (how == 'r' && scanf(" %c", &answer) != 1)
        exit(1);
    __asm__ volatile("");
}
static void *thread(void *how)
{
    leaves('q');
    return how;
}
static void in_thread(void)
{
    pthread_t one;
    if (!pthread_create(&one, NULL, thread, NULL))
        pthread_join(one, NULL);
}
__attribute__((noinline)) void marked(void)
{
    NOTE("begin");
    work();
    NOTE("end");
}
int main(void)
{
    char what;
    int times, sum = 0;
    printf("%lx\n", (unsigned long)work);
    fflush(stdout);
    while (scanf(" %c %d", &what, &times) == 2) {
        for (int n = 0; n < times; n++) {
            sum = hidden_step(sum);
            if (what == 'w') work();
            if (what == 'p') pause_ms();
            if (what == 'n') nested(9);
            if (what == 'm') marked();
            if (what == 'l' || what == 'r') leaves(what);
            if (what == 'j' && !setjmp(before)) leaves(what);
            if (what == 'q') in_thread();
            if (what == 's') sum += sized(1.0, n - 1, "x", (long)n << 40);
        }
        printf("done %d\n", sum);
        fflush(stdout);
    }
    return 0;
}
"""
_BREAKPOINT = 0xCC  # of x86-64, where these tests run


def compile_program(path: Path, *words: str) -> Path:
    """Compile the program; ``words`` are more options of the compiler."""
    command = ["cc", "-g", "-O2", "-fno-optimize-sibling-calls", *words]
    command += ["-x", "c", "-", "-o", str(path)]
    subprocess.run(command, input=SOURCE.encode(), check=True)
    return path


class ProbedProgram:
    """The running program."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(
            [*ENDS_WITH_US, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._work = int(self._line(), 16)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def call(self, what: str, times: int) -> None:
        """Call `work` (w), `pause_ms` (p), `nested` (n) or `marked` (m), and wait.

        Or `sized` (s) of -1, 0, 1 and so on, and of 0, 1, 2 and so on times 2^40.
        Or `leaves` (l), which may end by longjmp (j), with its thread (q)
        or after an answer (r).
        """
        self.say(f"{what} {times}")
        self.wait()

    def say(self, text: str) -> None:
        """Write a line to the program."""
        assert self._process.stdin
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()

    def wait(self) -> None:
        """Wait until the calls have ended."""
        assert self._line().startswith("done")

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def is_probed(self) -> bool:
        """Whether the kernel has put a breakpoint into `work`."""
        with Path(f"/proc/{self._process.pid}/mem").open("rb", buffering=0) as memory:
            memory.seek(self._work)
            return memory.read(1)[0] == _BREAKPOINT

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline()


def probe_of(binary: Path, name: str, times: bool = False) -> CodeProbe:
    """A probe of a function, as the command adds it."""
    return checked(CodeProbe(name, parse_target(f"uprobe:{binary}:{name}"), times))[0]
