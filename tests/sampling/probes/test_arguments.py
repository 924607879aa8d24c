"""Where arguments are: notes of USDT probes, and functions of a compiler."""

import subprocess
from pathlib import Path

import pytest

from sampling.probes.arguments import CONSTANT, CONTEXT, MEMORY, Form, usdt_form
from sampling.probes.changes import checked
from sampling.probes.definition import CodeProbe, parse_target
from sampling.probes.errors import ProbeArgumentError
from tests.probed_program import compile_program

X86, ARM = "x64", "AArch64"
SOURCE = """
struct pair { long a, b, c; };
enum mode { FAST, SLOW };
typedef const unsigned short port;
__attribute__((noinline)) struct pair made(int n)
{ struct pair p = {n, n, n}; return p; }
__attribute__((noinline)) long taken(struct pair p, int n) { return p.a + n; }
__attribute__((noinline)) long kinds(float f, enum mode m, port p, char *t, _Bool b)
{ return f + m + p + *t + b; }
__attribute__((noinline)) long many(int a, int b, int c, int d, int e, int f, int g)
{ return a + b + c + d + e + f + g; }
int main(int c, char **v)
{ return made(c).a + taken(made(c), c) + kinds(c, c, c, *v, c) +
         many(c, c, c, c, c, c, c); }
"""


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arguments")
    path = folder / "program"
    command = ["cc", "-g", "-O1", "-x", "c", "-", "-o", str(path)]
    subprocess.run(command, input=SOURCE.encode(), check=True)
    subprocess.run(["strip", "-g", "-o", folder / "without", path], check=True)
    return path


def form(target: str, argument: str) -> Form | None:
    probe, _ = checked(CodeProbe("p", parse_target(target), argument=argument))
    (place,) = probe.begins
    return place.form


def refusal(target: str, argument: str) -> str:
    with pytest.raises(ProbeArgumentError) as refused:
        form(target, argument)
    assert refused.value.code == "no-probe-argument"
    return str(refused.value)


@pytest.mark.parametrize(
    ("machine", "text", "expected"),
    [
        (X86, "8@%rax", Form(CONTEXT, 8, 80)),
        (X86, "1@%ah", Form(CONTEXT, 1, 81)),
        (X86, "-2@%r9w", Form(CONTEXT, -2, 64)),
        (X86, "-4@$-1", Form(CONSTANT, -4, displacement=-1)),
        (X86, "4@(%rdi)", Form(MEMORY, 4, 112)),
        (X86, "4@-20(%rbp)", Form(MEMORY, 4, 32, -20)),
        (X86, "-8@8(%rax,%rdx,4)", Form(MEMORY, -8, 80, 8, 96, 4)),
        (X86, "8@(%rax,%rdx)", Form(MEMORY, 8, 80, 0, 96, 1)),
        (ARM, "8@x2", Form(CONTEXT, 8, 16)),
        (ARM, "-4@w1", Form(CONTEXT, -4, 8)),
        (ARM, "4@5", Form(CONSTANT, 4, displacement=5)),
        (ARM, "4@[x0]", Form(MEMORY, 4, 0)),
        (ARM, "4@[sp, 12]", Form(MEMORY, 4, 248, 12)),
        (ARM, "-8@[x0, x1, lsl 3]", Form(MEMORY, -8, 0, 0, 8, 8)),
    ],
)
def test_note_is_read(machine: str, text: str, expected: Form) -> None:
    assert usdt_form(machine, text) == expected


@pytest.mark.parametrize(
    ("machine", "text"),
    [
        *((X86, text) for text in ("", "x", "8f@%xmm0", "8@%xmm0", "4@x(%rip)")),
        *(
            (X86, text)
            for text in ("3@%rax", "8@(%eax)", "8@(%rip)", "8@(%rsp,%rax,3)")
        ),
        *((ARM, text) for text in ("8f@d0", "8@[x0, w1, sxtw]", "8@[x0, 8]!", "8@x31")),
        ("MIPS", "8@%rax"),
    ],
)
def test_what_cannot_be_read_is_refused(machine: str, text: str) -> None:
    with pytest.raises(ProbeArgumentError) as refused:
        usdt_form(machine, text)
    assert refused.value.code == "no-probe-argument"


def test_arguments_of_a_function_have_their_types(binary: Path) -> None:
    """A floating-point number takes none of these registers, a pointer does."""
    target = f"uprobe:{binary}:kinds"
    assert form(target, "2") in (Form(CONTEXT, 4, 112), Form(CONTEXT, -4, 112))
    assert form(target, "3") == Form(CONTEXT, 2, 104)
    assert form(target, "5") == Form(CONTEXT, 1, 88)


@pytest.mark.parametrize(
    ("function", "argument", "why"),
    [
        ("kinds", "1", "is not an integer"),
        ("kinds", "4", "is a pointer"),
        ("kinds", "6", "has 5 arguments"),
        ("made", "1", "returns a structure"),
        ("taken", "2", "a structure"),
        ("many", "7", "not in a register"),
    ],
)
def test_argument_that_is_no_integer_in_a_register_is_refused(
    binary: Path, function: str, argument: str, why: str
) -> None:
    assert why in refusal(f"uprobe:{binary}:{function}", argument)


def test_without_dwarf_a_whole_register_is_taken_and_said(binary: Path) -> None:
    target = parse_target(f"uprobe:{binary.with_name('without')}:many")
    probe, warnings = checked(CodeProbe("p", target, argument="2"))
    assert probe.begins[0].form == Form(CONTEXT, -8, 104)
    assert "no DWARF describes many" in warnings[0]


def test_arguments_of_a_usdt_probe_are_checked(tmp_path: Path) -> None:
    path = compile_program(tmp_path / "program")
    assert form(f"usdt:{path}:demo:sent", "3") == Form(CONSTANT, -4, displacement=-7)
    assert "is not an integer" in refusal(f"usdt:{path}:demo:sent", "4")
    assert "has 4 arguments" in refusal(f"usdt:{path}:demo:sent", "5")
    assert "has 0 arguments" in refusal(f"usdt:{path}:demo:begin", "1")


@pytest.mark.parametrize(
    ("target", "argument"),
    [
        ("tracepoint:sched:sched_switch", "2"),
        ("tracepoint:sched:sched_switch", "next pid"),
        ("uprobe:/bin/true:main", "0"),
        ("uprobe:/bin/true:main", "size"),
        ("usdt:/bin/true:a:b", "13"),
    ],
)
def test_text_that_is_no_argument_is_refused(target: str, argument: str) -> None:
    with pytest.raises(ProbeArgumentError, match="is no (argument|field)"):
        CodeProbe("p", parse_target(target), argument=argument)
