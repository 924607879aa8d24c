"""CPUs that are had, and by whom."""

from observations.cpus import Cpus


def test_what_is_free_is_given() -> None:
    cpus = Cpus()
    assert cpus.take("h", [0, 1], "a") == ""
    assert cpus.take("h", [2], "b") == ""
    assert cpus.take("other", [0], "c") == ""
    assert cpus.pinned("h") == {0, 1, 2}


def test_what_is_taken_is_refused_with_its_holder() -> None:
    cpus = Cpus()
    cpus.take("h", [0, 1], "a")
    assert cpus.take("h", [3, 1], "b") == "observation a has CPU 1 of h"
    # Nothing of it was given.
    assert cpus.take("h", [3], "c") == ""


def test_what_is_given_back_is_free() -> None:
    cpus = Cpus()
    cpus.take("h", [0], "a")
    assert cpus.give_back("h", "a")
    assert not cpus.give_back("h", "a")
    assert cpus.take("h", [0], "b") == ""


def test_who_names_none_has_all_of_the_host() -> None:
    cpus = Cpus()
    assert cpus.take("h", [], "a") == ""
    assert cpus.pinned("h") == frozenset()
    assert cpus.take("h", [5], "b") == "observation a has CPU 5 of h"
    cpus.give_back("h", "a")
    cpus.take("h", [7], "c")
    assert cpus.take("h", [], "d") == "observation c has CPU 7 of h"
