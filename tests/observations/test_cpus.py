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
    assert cpus.pinned("h") == {7}


def test_who_came_first_goes_first() -> None:
    cpus = Cpus()
    cpus.take("h", [0], "a")
    assert cpus.take("h", [], "all", queues=True) == "observation a has CPU 0 of h"
    # It wants what is free, and would let the first wait once more.
    first = "observation all came first and waits for CPU 1 of h"
    assert cpus.take("h", [1], "late", queues=True) == first
    assert cpus.take("h", [1], "rude") == first
    cpus.give_back("h", "a")
    assert cpus.take("h", [1], "late", queues=True) == first
    assert cpus.take("h", [], "all", queues=True) == ""
    assert cpus.take("h", [1], "late") == "observation all has CPU 1 of h"
    cpus.give_back("h", "all")
    assert cpus.take("h", [1], "late", queues=True) == ""
    assert cpus.take("h", [0], "b") == ""


def test_who_wants_other_cpus_passes_who_waits() -> None:
    cpus = Cpus()
    cpus.take("h", [0], "a")
    cpus.take("h", [0, 1], "b", queues=True)
    assert cpus.take("h", [2], "c", queues=True) == ""
    assert cpus.take("other", [0], "d") == ""


def test_who_leaves_the_queue_lets_others_go() -> None:
    cpus = Cpus()
    cpus.take("h", [0], "a")
    cpus.take("h", [], "b", queues=True)
    assert not cpus.give_back("h", "b")
    assert cpus.take("h", [1], "c") == ""
    # Who was refused and does not queue waits for nothing.
    cpus.take("h", [0], "d")
    cpus.give_back("h", "a")
    assert cpus.take("h", [0], "e") == ""


def test_who_keeps_what_others_have_shares_it_until_one_gives_it_back() -> None:
    cpus = Cpus()
    cpus.keep("h", [0, 1], "a")
    cpus.keep("h", [1, 2], "b")
    cpus.keep("h", [3], "c")
    assert cpus.shared("h", "a") == "observation b has CPU 1 of h"
    assert cpus.shared("h", "b") == "observation a has CPU 1 of h"
    assert cpus.shared("h", "c") == cpus.shared("h", "d") == ""
    assert cpus.pinned("h") == {0, 1, 2, 3}
    cpus.give_back("h", "a")
    assert cpus.shared("h", "b") == cpus.shared("h", "a") == ""
    assert cpus.take("h", [1], "d") == "observation b has CPU 1 of h"
    assert cpus.take("h", [0], "d") == ""
