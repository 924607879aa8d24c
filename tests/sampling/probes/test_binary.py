"""What a binary offers to probes, against binaries of a compiler."""

import os
import subprocess
from pathlib import Path

import pytest

from sampling.probes.binary import find_target, identity_of, read_build_id
from sampling.probes.definition import parse_target
from sampling.probes.errors import ProbeTargetError
from tests.probed_program import compile_program


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program(tmp_path_factory.mktemp("binary") / "program")


def refusal(target: str) -> str:
    with pytest.raises(ProbeTargetError) as refused:
        find_target(parse_target(target))
    assert refused.value.code == "no-probe-target"
    assert "\n" not in str(refused.value)
    return str(refused.value)


def output(*words: object) -> str:
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=True
    ).stdout


def test_build_id_is_that_of_readelf(binary: Path) -> None:
    found = read_build_id(str(binary))
    assert found
    assert f"Build ID: {found}" in output("readelf", "-n", binary)


def test_binary_without_build_id_has_an_identity(tmp_path: Path) -> None:
    path = compile_program(tmp_path / "program", "-Wl,--build-id=none")
    assert read_build_id(str(path)) == ""
    assert identity_of(str(path)).startswith("file-")


@pytest.mark.parametrize("option", ["-no-pie", "-pie"])
def test_function_has_its_place_in_the_file(tmp_path: Path, option: str) -> None:
    path = compile_program(tmp_path / "program", option)
    (place,) = find_target(parse_target(f"uprobe:{path}:work")).places
    listed = output("objdump", "-d", "-F", "--disassemble=work", path)
    assert f"<work> (File Offset: {place.offset:#x})" in listed


def test_inlined_function_is_named_as_inlined(binary: Path) -> None:
    assert "was inlined into its callers" in refusal(f"uprobe:{binary}:hidden_step")


def test_partly_inlined_function_is_noticed(tmp_path: Path) -> None:
    """One call is inlined; its address, which is taken, needs the function."""
    source, path = tmp_path / "partly.c", tmp_path / "partly"
    source.write_text(
        "int half(int n) { return n * 7 + 1; }\nint (*volatile kept)(int) = half;\n"
        "int main(int c, char **v) { return half(c) + kept(c); }\n",
        "utf-8",
    )
    output("cc", "-g", "-O2", "-o", path, source)
    assert find_target(parse_target(f"uprobe:{path}:half")).partly_inlined
    assert not find_target(parse_target(f"uprobe:{path}:main")).partly_inlined


def test_unknown_function_has_near_names(binary: Path) -> None:
    assert "is it pause_ms?" in refusal(f"uprobe:{binary}:pause_m")


def test_stripped_binary_is_named_as_stripped(tmp_path: Path, binary: Path) -> None:
    path = tmp_path / "stripped"
    output("strip", "-o", path, binary)
    assert "stripped" in refusal(f"uprobe:{path}:work")


def test_indirect_function_is_refused() -> None:
    listed = output("/bin/sh", "-c", "ldd /bin/sh | grep -o '/[^ ]*libc.so.6'")
    assert "chooses" in refusal(f"uprobe:{listed.strip()}:strlen")


def test_usdt_probe_is_found_or_the_others_named(binary: Path) -> None:
    found = find_target(parse_target(f"usdt:{binary}:demo:begin"))
    assert len(found.places) == 1
    assert "it has demo:begin" in refusal(f"usdt:{binary}:demo:begun")
    assert "it has none" in refusal("usdt:/bin/true:demo:begin")


def test_file_that_is_no_binary_is_named(tmp_path: Path, binary: Path) -> None:
    text, cut, pipe = (tmp_path / name for name in ("text", "cut", "pipe"))
    text.write_text("no binary", "utf-8")
    cut.write_bytes(binary.read_bytes()[:900])
    os.mkfifo(pipe)
    for path in (text, cut, pipe):
        assert f"{path}" in refusal(f"uprobe:{path}:work")
    assert "it is not a file" in refusal(f"uprobe:{pipe}:work")
    assert "No such file" in refusal(f"uprobe:{tmp_path}/none:work")
    assert f"{tmp_path}" in refusal(f"uprobe:{tmp_path}:work")


def test_no_damage_raises_another_error(tmp_path: Path, binary: Path) -> None:
    """Each byte of the headers, and many others, is changed in turn."""
    content, path = binary.read_bytes(), tmp_path / "damaged"
    for at in (*range(64), *range(64, len(content), 499)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        for target in (f"uprobe:{path}:work", f"usdt:{path}:demo:begin"):
            try:
                find_target(parse_target(target))
            except ProbeTargetError:
                continue
