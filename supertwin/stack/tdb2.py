"""Check the files of a TDB2 dataset before Fuseki opens them.

Fuseki reads damaged files silently, or fails much later. A B+tree consists of three
files: `.bpt` holds the number of 8 KiB blocks in use in `.idn` (nodes) and `.dat`
(ordered records). Each component of a record is a value or, with 0 in its first byte,
the position of a term in `nodes-data.obj`; the length of that file is in
`nodes-data.bdf`. Committed blocks never change, so older copies of a block are in
order, too. Fuseki recreates a missing file empty; the other trees of the same records
show what is missing.
"""

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from supertwin.errors import DamagedDatasetError

_BLOCK = 8192
_TREE, _LENGTH = struct.Struct(">3Q"), struct.Struct(">Q")
# Header bytes of a node and of a record block, before keys and records.
_NODE, _RECORDS = 4, 8
_COUNT, _NODE_KINDS = 0x00FFFFFF, (6, 7)
# In tables of terms: a hash, and the position of the term.
_HASH, _HASH_AND_PLACE = 16, 24
# The first byte of a term: a field of Thrift's compact protocol that is a struct.
_STRUCT, _KIND = 0x0C, 0x0F
# Tables of terms, and trees that belong to prefixes.
_TABLES, _OF_PREFIXES = ("nodes", "prefixes"), ("prefixes", "GPU")
# Trees of the same records in different orders.
_QUADS = ("GSPO", "GPOS", "GOSP", "SPOG", "POSG", "OSPG")
_TRIPLES = ("SPO", "POS", "OSP")
_TREES = (*_TABLES, *_QUADS, *_TRIPLES, "GPU")
_POINTER, _MOST_LEVELS = 4, 16
_AT_ONCE = 2048  # blocks, 16 MiB

Words = NDArray[np.uint64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class _Terms:
    """The file of terms that an index points to, up to its committed length."""

    file: Path
    length: int

    def are_at(self, places: Words) -> bool:
        """Whether a term begins at each of these positions."""
        if not len(places):
            return True
        if int(places.max()) >= self.length:
            return False
        first = np.memmap(self.file, np.uint8, "r")[places]
        return bool(np.all(first & _KIND == _STRUCT))


def check_dataset(folder: Path) -> None:
    """Raise DamagedDatasetError for a damaged file of a dataset, in any generation."""
    found = (
        one
        for part in folder.glob("Data-[0-9][0-9][0-9][0-9]")
        for one in _damages(part)
    )
    for path, wrong in found:
        raise _damaged(path, wrong)


def _damaged(path: Path, wrong: str) -> DamagedDatasetError:
    return DamagedDatasetError(
        f"{path} is damaged ({wrong}): move the state folder away and restore a "
        "backup (`supertwin restore DIR`), or move "
        f"{path.parent.parent} away and start "
        "without it: `make up` loads this host again, `supertwin add` others"
    )


def _damages(folder: Path) -> Iterator[tuple[Path, str]]:
    if _is_unused(folder):
        return
    for name in _TABLES:
        terms = _terms(folder, name)
        size = terms.file.stat().st_size if terms.file.exists() else 0
        if size < terms.length:
            yield terms.file, f"it has {size} bytes of {terms.length}"
    for name in _TREES:
        yield from _of_tree(folder, name)
    # A start applies the transaction in the journal, so trees may differ by it.
    journal = folder / "journal.jrnl"
    if not journal.exists() or not journal.stat().st_size:
        yield from _lacking(folder)


def _of_tree(folder: Path, name: str) -> Iterator[tuple[Path, str]]:
    state = folder / f"{name}.bpt"
    _, nodes, records = _TREE.unpack(_exactly(state, _TREE.size))
    if not (nodes and records):
        yield state, "it declares 0 blocks"
    terms = _terms(folder, "prefixes" if name in _OF_PREFIXES else "nodes")
    if wrong := _of_nodes(state, nodes):
        yield state.with_suffix(".idn"), wrong
    if wrong := _of_records(state, records, terms):
        yield state.with_suffix(".dat"), wrong
    if _total(state) is None:
        yield state.with_suffix(".idn"), "a node has an invalid pointer"


def _is_unused(folder: Path) -> bool:
    """Whether nothing was ever stored: Fuseki creates the missing files then."""
    if any(path.stat().st_size for path in folder.glob("*-data.obj")):
        return False
    states = (path.read_bytes()[: _TREE.size] for path in folder.glob("*.bpt"))
    whole = (state for state in states if len(state) == _TREE.size)
    return all(_TREE.unpack(state)[2] <= 1 for state in whole)


def _lacking(folder: Path) -> Iterator[tuple[Path, str]]:
    """Trees that have another number of records than other trees of the same data."""
    totals = {name: _total(folder / f"{name}.bpt") for name in _TREES}
    for name in _TABLES:
        if not totals[name] and _terms(folder, name).length:
            yield folder / f"{name}.dat", "it has no records, but there are terms"
    for names in (_QUADS, _TRIPLES):
        ((usual, _),) = Counter(totals[name] for name in names).most_common(1)
        for name in names:
            if totals[name] != usual:
                wrong = f"{name}.bpt reaches {totals[name]} records, not {usual}"
                yield folder / f"{name}.dat", wrong


def _terms(folder: Path, name: str) -> _Terms:
    (length,) = _LENGTH.unpack(_exactly(folder / f"{name}-data.bdf", _LENGTH.size))
    return _Terms(folder / f"{name}-data.obj", length)


def _exactly(path: Path, size: int) -> bytes:
    content = path.read_bytes()[:size] if path.exists() else b""
    if len(content) < size:
        has = (
            f"it has {len(content)} bytes of {size}"
            if path.exists()
            else "it is missing"
        )
        raise _damaged(path, has)
    return content


def _of_nodes(state: Path, blocks: int) -> str:
    """What is wrong with the nodes of a tree; empty if nothing is."""
    width = _HASH if state.stem in _TABLES else _width(state)
    for first, found in _pieces(state.with_suffix(".idn"), blocks):
        if not len(found):
            return "it is too short"
        kinds, counts, keys = _parted(found, _NODE, width)
        bad = ~np.isin(kinds, _NODE_KINDS) | ~_in_order(keys, counts)
        if bad.any():
            return f"block {first + int(bad.argmax())}"
    return ""


def _of_records(state: Path, blocks: int, terms: _Terms) -> str:
    """What is wrong with the records of a tree; empty if nothing is."""
    is_table = state.stem in _TABLES
    width = _width(state)
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
        if np.any((kinds != 0) & (kinds < 128)):  # neither a position nor a value
            return "a record has no term"
        places = parts[kinds == 0]
        if not (terms.are_at(places) if is_table else _below(places, terms.length)):
            return f"a record has an invalid position in {terms.file.name}"
    return ""


def _width(state: Path) -> int:
    """Bytes per record of a tree."""
    return _HASH_AND_PLACE if state.stem in _TABLES else 8 * len(state.stem)


def _total(state: Path) -> int | None:
    """The number of records of a tree, from its root; None for a broken pointer."""
    root, number, records = _TREE.unpack(_exactly(state, _TREE.size))
    width = _width(state)
    # TDB2 gives a node as many keys as fit with their pointers, an odd number.
    keys = 2 * ((_BLOCK - _NODE - _POINTER) // (width + _POINTER) // 2) - 1
    nodes = _words(state.with_suffix(".idn"), number)
    pointers = nodes[:, (_NODE + keys * width) // _POINTER :][:, : keys + 1]
    level = np.array([root])
    for _ in range(_MOST_LEVELS):
        if level.max() >= number:
            return None
        heads = nodes[level, 0]
        used = np.arange(keys + 1) <= (heads & _COUNT)[:, None]
        children = pointers[level][used].astype(np.int64)
        if np.all(heads >> 24 == _NODE_KINDS[1]):
            break
        level = children
    else:
        return None
    if children.max() >= records:
        return None
    return int(_words(state.with_suffix(".dat"), records)[children, 0].sum())


def _words(path: Path, blocks: int) -> NDArray[np.uint32]:
    """Blocks as four-byte words, read on demand."""
    words = _BLOCK // _POINTER
    return np.memmap(path, ">u4", "r", 0, (blocks, words))


def _below(places: Words, length: int) -> bool:
    return not len(places) or int(places.max()) < length


def _pieces(path: Path, blocks: int) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Blocks by the number of the first; none if the file is too short."""
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
    """First byte, count and rows of blocks; a row has eight-byte words."""
    counts = np.ascontiguousarray(blocks[:, :4]).view(">u4")[:, 0].astype(np.int64)
    counts &= _COUNT
    most = (_BLOCK - header) // width
    rows = np.ascontiguousarray(blocks[:, header : header + most * width])
    words = rows.view(">u8").astype(np.uint64)
    return blocks[:, 0], counts, words.reshape(len(blocks), most, width // 8)


def _in_order(rows: Words, counts: Counts) -> NDArray[np.bool_]:
    """Whether the rows of each block are distinct and ascending."""
    before, after = rows[:, :-1], rows[:, 1:]
    ascends = np.zeros(before.shape[:2], np.bool_)
    for word in reversed(range(rows.shape[2])):
        one, next_ = before[:, :, word], after[:, :, word]
        ascends = (one < next_) | ((one == next_) & ascends)
    pairs = np.arange(1, rows.shape[1]) < counts[:, None]
    good: NDArray[np.bool_] = np.all(ascends | ~pairs, axis=1)
    good &= counts <= rows.shape[1]
    return good
