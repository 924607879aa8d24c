"""Whether the files of a TDB2 dataset are whole, before Fuseki opens them.

Fuseki reads damaged files without a word, or fails much later. A B+tree is three files:
`.bpt` says how many blocks of 8 KiB are in use in `.idn` (nodes) and `.dat` (records in
order). Each component of a record is a value, or, with 0 in its first byte, the place
of a term in `nodes-data.obj`, whose length `nodes-data.bdf` says. Blocks are never
changed once they are committed, so older copies of a block are in order, too.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from supertwin.errors import MendableError

_BLOCK = 8192
_TREE, _LENGTH = struct.Struct(">3Q"), struct.Struct(">Q")
# Bytes of a node's header and of a record block's, in front of keys and records.
_NODE, _RECORDS = 4, 8
_COUNT, _NODE_KINDS = 0x00FFFFFF, (6, 7)
# Of a table of terms: a hash, and the place of the term.
_HASH, _HASH_AND_PLACE = 16, 24
# The first byte of a term: a field of Thrift's compact protocol that is a struct.
_STRUCT, _KIND = 0x0C, 0x0F
# Tables of terms, and what belongs to prefixes.
_TABLES, _OF_PREFIXES = ("nodes", "prefixes"), ("prefixes", "GPU")
_AT_ONCE = 2048  # blocks, 16 MiB

Words = NDArray[np.uint64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class _Terms:
    """The file that the places of an index lead to, as far as it is committed."""

    file: Path
    length: int

    def are_at(self, places: Words) -> bool:
        """Whether a term begins at each of these places."""
        if not len(places):
            return True
        if int(places.max()) >= self.length:
            return False
        first = np.memmap(self.file, np.uint8, "r")[places]
        return bool(np.all(first & _KIND == _STRUCT))


def check_dataset(folder: Path) -> None:
    """Raise MendableError where a file of a dataset is damaged, in any generation."""
    found = (
        one
        for part in folder.glob("Data-[0-9][0-9][0-9][0-9]")
        for one in _damages(part)
    )
    for path, wrong in found:
        raise MendableError(
            f"{path} is damaged ({wrong}): move the state folder away and restore a "
            f"backup (`supertwin restore DIR`), or move {folder} away and start "
            "without it: `make up` loads this host again, `supertwin add` others"
        )


def _damages(folder: Path) -> Iterator[tuple[Path, str]]:
    for name in ("nodes", "prefixes"):
        if (folder / f"{name}-data.bdf").exists():
            terms = _terms(folder, name)
            size = terms.file.stat().st_size if terms.file.exists() else 0
            if size < terms.length:
                yield terms.file, f"it has {size} bytes of {terms.length}"
    for state in sorted(folder.glob("*.bpt")):
        terms = _terms(folder, "prefixes" if state.stem in _OF_PREFIXES else "nodes")
        _, nodes, records = _TREE.unpack(_exactly(state, _TREE.size))
        for path, wrong in (
            (state.with_suffix(".idn"), _of_nodes(state, nodes)),
            (state.with_suffix(".dat"), _of_records(state, records, terms)),
        ):
            if wrong:
                yield path, wrong


def _terms(folder: Path, name: str) -> _Terms:
    (length,) = _LENGTH.unpack(_exactly(folder / f"{name}-data.bdf", _LENGTH.size))
    return _Terms(folder / f"{name}-data.obj", length)


def _exactly(path: Path, size: int) -> bytes:
    content = path.read_bytes()[:size] if path.exists() else b""
    if len(content) < size:
        raise MendableError(
            f"{path} is damaged (it has {len(content)} bytes of {size}): move the "
            "state folder away and restore a backup (`supertwin restore DIR`), or move "
            f"{path.parent.parent} away and start without it"
        )
    return content


def _of_nodes(state: Path, blocks: int) -> str:
    """What is wrong with the nodes of a tree; empty where nothing is."""
    width = _HASH if state.stem in _TABLES else 8 * len(state.stem)
    for first, found in _pieces(state.with_suffix(".idn"), blocks):
        if not len(found):
            return "it is too short"
        kinds, counts, keys = _parted(found, _NODE, width)
        bad = ~np.isin(kinds, _NODE_KINDS) | ~_in_order(keys, counts)
        if bad.any():
            return f"block {first + int(bad.argmax())}"
    return ""


def _of_records(state: Path, blocks: int, terms: _Terms) -> str:
    """What is wrong with the records of a tree; empty where nothing is."""
    is_table = state.stem in _TABLES
    width = _HASH_AND_PLACE if is_table else 8 * len(state.stem)
    for first, found in _pieces(state.with_suffix(".dat"), blocks):
        if not len(found):
            return "it is too short"
        _, counts, records = _parted(found, _RECORDS, width)
        bad = ~_in_order(records, counts)
        if bad.any():
            return f"block {first + int(bad.argmax())}"
        used = np.arange(records.shape[1]) < counts[:, None]
        parts = records[used][:, 2:] if is_table else records[used]
        kinds = parts >> np.uint64(56)
        if np.any((kinds != 0) & (kinds < 128)):  # neither a place nor a value
            return "a record has no term"
        places = parts[kinds == 0]
        if not (terms.are_at(places) if is_table else _below(places, terms.length)):
            return f"a record leads nowhere in {terms.file.name}"
    return ""


def _below(places: Words, length: int) -> bool:
    return not len(places) or int(places.max()) < length


def _pieces(path: Path, blocks: int) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Blocks by the number of the first; none where the file is too short."""
    size = path.stat().st_size if path.exists() else 0
    if size < blocks * _BLOCK:
        yield 0, np.empty((0, _BLOCK), np.uint8)
        return
    for first in range(0, blocks, _AT_ONCE):
        number = min(_AT_ONCE, blocks - first)
        shape, offset = (number, _BLOCK), first * _BLOCK
        yield first, np.memmap(path, np.uint8, "r", offset, shape)


def _parted(
    blocks: NDArray[np.uint8], header: int, width: int
) -> tuple[NDArray[np.uint8], Counts, Words]:
    """First byte, count and rows of blocks; a row has words of eight bytes."""
    counts = np.ascontiguousarray(blocks[:, :4]).view(">u4")[:, 0].astype(np.int64)
    counts &= _COUNT
    most = (_BLOCK - header) // width
    rows = np.ascontiguousarray(blocks[:, header : header + most * width])
    words = rows.view(">u8").astype(np.uint64)
    return blocks[:, 0], counts, words.reshape(len(blocks), most, width // 8)


def _in_order(rows: Words, counts: Counts) -> NDArray[np.bool_]:
    """Whether the rows of each block are distinct and ascend."""
    before, after = rows[:, :-1], rows[:, 1:]
    ascends = np.zeros(before.shape[:2], np.bool_)
    for word in reversed(range(rows.shape[2])):
        one, next_ = before[:, :, word], after[:, :, word]
        ascends = (one < next_) | ((one == next_) & ascends)
    pairs = np.arange(1, rows.shape[1]) < counts[:, None]
    good: NDArray[np.bool_] = np.all(ascends | ~pairs, axis=1)
    good &= counts <= rows.shape[1]
    return good
