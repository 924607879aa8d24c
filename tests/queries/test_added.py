"""Queries of a folder: found without a restart, versioned, changed atomically."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from queries import added, versions
from queries.added import QueryCatalogue
from queries.catalogue import load_catalogue
from queries.errors import (
    BuiltInQueryError,
    CatalogueError,
    ConditionNeededError,
    QueryChangedError,
    QueryNameError,
    TooManyQueriesError,
    UnknownQueryError,
    UnknownVersionError,
)
from queries.versions import Condition, QueryVersions, tag
from tests.dashboards.saved import save
from tests.queries.test_catalogue import GOOD

NAME = "mine/threads"
OTHER = GOOD.replace("Some threads", "Other threads")
ANY = Condition(match=["*"])


def put(folder: Path, text: str, condition: Condition = ANY) -> int:
    return QueryVersions(folder).put(NAME, text, condition)[0].number


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    QueryVersions(tmp_path).put(NAME, GOOD, Condition())
    return tmp_path


def test_missing_folder_adds_nothing(tmp_path: Path) -> None:
    catalogue = QueryCatalogue(tmp_path / "none")
    assert catalogue.all() == load_catalogue()
    assert catalogue.names() == sorted(load_catalogue())
    assert catalogue.problems() == {}


def test_file_is_found_changed_and_forgotten_without_a_restart(tmp_path: Path) -> None:
    catalogue = QueryCatalogue(tmp_path)
    before = catalogue.all()
    save(tmp_path, NAME, GOOD)
    assert catalogue.find(NAME).added
    assert [*catalogue.all()] == sorted([*before, NAME])
    assert catalogue.all() is catalogue.all()
    save(tmp_path, NAME, OTHER)
    assert catalogue.all()[NAME].description == "Other threads"
    (tmp_path / f"{NAME}.rq").unlink()
    assert catalogue.all() == before
    with pytest.raises(UnknownQueryError):
        catalogue.find(NAME)


def test_built_in_query_cannot_be_shadowed(tmp_path: Path) -> None:
    save(tmp_path, "cache/sharing", GOOD)
    catalogue = QueryCatalogue(tmp_path)
    assert catalogue.find("cache/sharing") is load_catalogue()["cache/sharing"]
    assert catalogue.all()["cache/sharing"] is load_catalogue()["cache/sharing"]
    assert "built-in query" in catalogue.problems()["cache/sharing"]


def test_files_that_cannot_be_loaded_are_problems(tmp_path: Path) -> None:
    save(tmp_path, NAME, GOOD)
    save(tmp_path, "mine/headless", "ASK {}")
    save(tmp_path, "mine/long", GOOD + "#" * added.MOST_BYTES)
    save(tmp_path, "mine/Big Name", GOOD)
    (tmp_path / "mine/bytes.rq").write_bytes(b"\xff\xfe")
    os.mkfifo(tmp_path / "mine/pipe.rq")
    (tmp_path / "mine/nothing.rq").symlink_to(tmp_path / "gone")
    catalogue = QueryCatalogue(tmp_path)
    assert catalogue.all().keys() - load_catalogue().keys() == {NAME}
    found = catalogue.problems()
    assert "has no header" in found["mine/headless"]
    assert "bytes" in found["mine/long"]
    assert "is not a name" in found["mine/Big Name"]
    assert "UTF-8" in found["mine/bytes"]
    assert "is not a file" in found["mine/pipe"]
    assert len(found) == 5
    with pytest.raises(CatalogueError, match="mine/headless cannot be loaded: has no"):
        catalogue.find("mine/headless")


def test_removed_file_is_not_a_problem(tmp_path: Path) -> None:
    catalogue = QueryCatalogue(tmp_path)
    catalogue.all()
    save(tmp_path, "mine/headless", "ASK {}")
    with pytest.raises(CatalogueError):
        catalogue.find("mine/headless")
    (tmp_path / "mine/headless.rq").unlink()
    assert catalogue.problems() == {}


def test_only_changed_files_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    parse = added.added_query
    monkeypatch.setattr(
        added, "added_query", lambda name, text: read.append(name) or parse(name, text)
    )
    catalogue = QueryCatalogue(tmp_path)
    for name in ("mine/a", "mine/b"):
        save(tmp_path, name, GOOD)
        catalogue.all()
    catalogue.find("mine/a")
    assert read == ["mine/a", "mine/b"]


def test_each_text_is_a_version(stored: Path) -> None:
    assert put(stored, OTHER) == 2
    assert put(stored, OTHER) == 2
    found = QueryVersions(stored)
    assert [(v.number, v.tag) for v in found.versions(NAME)] == [
        (1, tag(GOOD)),
        (2, tag(OTHER)),
    ]
    assert found.version(NAME, 1) == GOOD
    with pytest.raises(UnknownVersionError, match="no version 3; it has 1 to 2"):
        found.version(NAME, 3)
    with pytest.raises(UnknownVersionError, match="is built in"):
        found.versions("cache/sharing")
    for unknown in ("mine/other", "../x"):
        with pytest.raises(UnknownQueryError):
            found.versions(unknown)


def test_text_with_any_line_ends_is_stored_as_it_is(stored: Path) -> None:
    text = GOOD.replace("\n", "\r\n") + "# é\u2028"
    assert QueryVersions(stored).version(NAME, put(stored, text)) == text
    assert (stored / f"{NAME}.rq").read_bytes() == text.encode()


def test_text_edited_by_hand_is_kept_when_it_is_replaced(stored: Path) -> None:
    save(stored, NAME, OTHER)
    assert put(stored, GOOD) == 3
    assert QueryVersions(stored).version(NAME, 2) == OTHER
    save(stored, NAME, OTHER)
    QueryVersions(stored).delete(NAME, Condition())
    assert QueryVersions(stored).version(NAME, 4) == OTHER


def test_file_without_versions_gets_them(tmp_path: Path) -> None:
    save(tmp_path, NAME, GOOD)
    assert QueryVersions(tmp_path).versions(NAME) == []
    assert put(tmp_path, OTHER) == 2


def test_versions_of_a_removed_query_stay_and_go_on(stored: Path) -> None:
    QueryVersions(stored).delete(NAME, Condition(match=[tag(GOOD)]))
    assert not (stored / "mine").exists()
    assert QueryVersions(stored).version(NAME, 1) == GOOD
    with pytest.raises(UnknownQueryError):
        QueryVersions(stored).delete(NAME, Condition())
    version, is_new = QueryVersions(stored).put(NAME, OTHER, Condition())
    assert (version.number, is_new) == (2, True)


def test_only_the_newest_versions_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "MOST_VERSIONS", 2)
    for number in range(4):
        put_any = Condition(match=["*"]) if number else Condition()
        put(tmp_path, f"{GOOD}# {number}\n", put_any)
    assert [v.number for v in QueryVersions(tmp_path).versions(NAME)] == [3, 4]


@pytest.mark.parametrize(
    ("condition", "error"),
    [
        (Condition(), ConditionNeededError),
        (Condition(match=[tag(OTHER)]), QueryChangedError),
        (Condition(match=[]), QueryChangedError),
        (Condition(match=[f"W/{tag(GOOD)}"]), QueryChangedError),
        (Condition(match=["*"], none_match=["*"]), QueryChangedError),
        (Condition(none_match=["*"]), QueryChangedError),
    ],
)
def test_replacement_needs_the_tag_of_the_current_text(
    stored: Path, condition: Condition, error: type[Exception]
) -> None:
    with pytest.raises(error):
        put(stored, OTHER, condition)
    assert (stored / f"{NAME}.rq").read_text() == GOOD
    assert len(QueryVersions(stored).versions(NAME)) == 1


def test_condition_on_a_missing_query_fails(tmp_path: Path) -> None:
    with pytest.raises(QueryChangedError, match="does not exist"):
        put(tmp_path, GOOD, ANY)
    assert QueryVersions(tmp_path).put(NAME, GOOD, Condition(none_match=["*"]))[1]


def test_one_of_several_writers_wins(stored: Path) -> None:
    def write(number: int) -> bool:
        try:
            put(stored, f"{GOOD}# {number}\n", Condition(match=[tag(GOOD)]))
        except QueryChangedError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(write, range(8))].count(True) == 1
    assert len(QueryVersions(stored).versions(NAME)) == 2


@pytest.mark.parametrize(
    "name",
    ["threads", "../threads", "mine/..", "mine/a/b", "mine/A", "mine/", "mine/a.rq"],
)
def test_bad_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(QueryNameError):
        QueryVersions(tmp_path).put(name, GOOD, Condition())
    assert not [*tmp_path.iterdir()]


def test_built_in_query_is_not_replaced_or_removed(tmp_path: Path) -> None:
    for change in (
        lambda: QueryVersions(tmp_path).put("cache/sharing", GOOD, ANY),
        lambda: QueryVersions(tmp_path).delete("cache/sharing", ANY),
    ):
        with pytest.raises(BuiltInQueryError):
            change()


def test_full_folder_takes_no_more(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "MOST_QUERIES", 1)
    with pytest.raises(TooManyQueriesError):
        QueryVersions(stored).put("mine/more", GOOD, Condition())
    assert put(stored, OTHER) == 2


def test_failed_write_changes_nothing(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, write = stored / f"{NAME}.rq", versions.write_whole

    def fail(path: Path, text: str) -> None:
        if path == target:
            raise OSError(28, "No space left on device", str(path))
        write(path, text)

    monkeypatch.setattr(versions, "write_whole", fail)
    with pytest.raises(OSError, match="No space"):
        put(stored, OTHER)
    assert target.read_text() == GOOD
    assert len(QueryVersions(stored).versions(NAME)) == 1


def test_failed_write_keeps_the_versions_of_a_removed_query(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    QueryVersions(stored).delete(NAME, Condition())

    def fail(path: Path, _text: str) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(versions, "write_whole", fail)
    with pytest.raises(OSError, match="No space"):
        QueryVersions(stored).put(NAME, GOOD, Condition())
    assert QueryVersions(stored).version(NAME, 1) == GOOD


def test_folder_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "queries"
    QueryVersions(folder).put(NAME, GOOD, Condition())
    assert folder.stat().st_mode & 0o777 == 0o700
