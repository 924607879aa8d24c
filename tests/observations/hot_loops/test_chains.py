"""Dependencies between instructions, and the chains that they form."""

import pytest

from observations.hot_loops.chains import Chains, Timed, find_chains
from observations.hot_loops.code import innermost_loops
from observations.hot_loops.instructions import OperandKind, parse_instruction


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("addq $1, %rax", "ax", "ax flags"),
        ("xorl %eax, %eax", "", "ax flags"),
        ("vpxor %xmm1, %xmm1, %xmm2", "", "v2"),
        ("subsd %xmm0, %xmm0", "v0", "v0"),
        ("imulq $3, %rbx, %rcx", "bx", "cx flags"),
        ("idivq %rcx", "ax cx dx", "ax dx"),
        ("cqto", "ax", "dx"),
        ("movsd %xmm0, %xmm1", "v0 v1", "v1"),
        ("movsd (%rax), %xmm1", "(%rax)", "v1"),
        ("movslq %eax, %rdx", "ax", "dx"),
        ("movb %ah, %cl", "ax", "cx"),
        ("leaq 8(%rax,%rbx), %rcx", "ax bx", "cx"),
        ("cmovgq %rax, %rbx", "ax bx flags", "bx"),
        ("sete %al", "flags", "ax"),
        ("adcq %rax, %rbx", "ax bx flags", "bx flags"),
        ("vfmadd231pd %zmm0, %zmm1, %zmm2 {%k1}", "k1 v0 v1 v2", "v2"),
        ("vaddpd %zmm0, %zmm1, %zmm2 {%k1}", "k1 v0 v1 v2", "v2"),
        ("vaddpd %zmm0, %zmm1, %zmm2 {%k1} {z}", "k1 v0 v1", "v2"),
        ("addl $1, -28(%rbp)", "-28(%rbp)", "-28(%rbp) flags"),
        ("vmovupd %ymm0, (%rdi,%rax)", "v0", "(%rdi,%rax)"),
        ("cvtsi2sd %eax, %xmm0", "ax v0", "v0"),
        ("vcvtsi2sd %eax, %xmm1, %xmm0", "ax v1", "v0"),
        ("lock xaddl %eax, (%rdi)", "(%rdi) ax", "(%rdi) ax flags"),
        ("sarl $2, %r10d", "r10", "flags r10"),
        ("jne 0x10", "flags", ""),
        ("jmp 0x10", "", ""),
    ],
)
def test_operands_are_read_and_written(text: str, reads: str, writes: str) -> None:
    found = parse_instruction(text)
    assert (found.reads, found.writes) == ({*reads.split()}, {*writes.split()})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("addq (%rax), %rbx", OperandKind.INTEGER),
        ("addsd (%rax), %xmm0", OperandKind.SCALAR),
        ("vfmadd231ss (%rax), %xmm1, %xmm0", OperandKind.SCALAR),
        ("addpd (%rax), %xmm0", OperandKind.XMM),
        ("pabsd (%rax), %xmm0", OperandKind.XMM),
        ("vpabsd (%rax), %ymm0", OperandKind.WIDER),
        ("vaddpd (%rax), %zmm1, %zmm0", OperandKind.WIDER),
    ],
)
def test_kind_of_operands_is_found(text: str, kind: OperandKind) -> None:
    assert parse_instruction(text).kind is kind


def test_sum_waits_for_each_addition_but_not_for_loads() -> None:
    loop = [
        Timed("addsd (%rax), %xmm0", 10, 7),
        Timed("addsd 8(%rax), %xmm0", 10, 7),
        Timed("addq $16, %rax", 1),
    ]
    assert find_chains(loop) == Chains(critical_path=13, carried=6)


def test_pointer_chase_waits_for_each_load() -> None:
    assert find_chains([Timed("movq (%rax), %rax", 5, 4)]) == Chains(5, 5)


def test_variable_in_memory_continues_a_chain() -> None:
    loop = [
        Timed("movsd -8(%rbp), %xmm0", 8, 7),
        Timed("addsd %xmm1, %xmm0", 3),
        Timed("movsd %xmm0, -8(%rbp)", 1),
    ]
    assert find_chains(loop) == Chains(12, 12)


def test_chain_over_several_registers_is_found() -> None:
    """Each value is needed only in the iteration after the next."""
    loop = [
        Timed("vaddsd %xmm1, %xmm2, %xmm0", 4),
        Timed("vmovapd %xmm2, %xmm1", 0),
        Timed("vmovapd %xmm0, %xmm2", 0),
    ]
    assert find_chains(loop).carried == pytest.approx(4)
    loop = [Timed("vaddsd %xmm3, %xmm1, %xmm0", 4), *loop[1:]]
    assert find_chains(loop).carried == pytest.approx(2)


def test_innermost_loops_end_at_their_last_backward_branch() -> None:
    code = {
        0: "xorl %eax, %eax",
        1: "xorl %ecx, %ecx",
        2: "incl %ecx",
        3: "je 0x2",
        4: "jne 0x2",
        5: "jmp 0x1",
        6: "jg 0x8",
        7: "call 0x0",
        8: "ret",
        9: "jmp 0x9",
    }
    assert innermost_loops(code, "x86_64") == [(2, 4), (9, 9)]
    assert innermost_loops(code, "riscv64") == []


def test_loops_of_aarch64_are_found() -> None:
    code = {0: "subs x0, x0, #1", 4: "b.ne 0x0", 8: "cbnz x1, 0x8", 12: "bl 0x0"}
    assert innermost_loops(code, "aarch64") == [(0, 4), (8, 8)]
