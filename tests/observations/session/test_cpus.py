"""CPUs that observations reserve, and which observation has them."""

from observations.session.cpus import Cpus


def test_free_cpus_are_reserved() -> None:
    cpus = Cpus()
    assert cpus.take("h", [0, 1], "a") == ""
    assert cpus.take("h", [2], "b") == ""
    assert cpus.take("other", [0], "c") == ""
    assert cpus.pinned("h") == {0, 1, 2}


def test_taken_cpus_are_refused_naming_the_owner() -> None:
    cpus = Cpus()
    cpus.take("h", [0, 1], "a")
    assert cpus.take("h", [3, 1], "b") == "observation a has CPU 1 of h"
    # A refused request reserves none of its CPUs.
    assert cpus.take("h", [3], "c") == ""


def test_released_cpus_are_free() -> None:
    cpus = Cpus()
    cpus.take("h", [0], "a")
    assert cpus.release("h", "a")
    assert not cpus.release("h", "a")
    assert cpus.take("h", [0], "b") == ""


def test_request_without_cpus_takes_the_whole_host() -> None:
    cpus = Cpus()
    assert cpus.take("h", [], "a") == ""
    assert cpus.pinned("h") == frozenset()
    assert cpus.take("h", [5], "b") == "observation a has CPU 5 of h"
    cpus.release("h", "a")
    cpus.take("h", [7], "c")
    assert cpus.take("h", [], "d") == "observation c has CPU 7 of h"
    assert cpus.pinned("h") == {7}


def test_requests_are_served_in_order_of_arrival() -> None:
    cpus = Cpus()
    cpus.take("h", [0], "a")
    assert cpus.take("h", [], "all", queues=True) == "observation a has CPU 0 of h"
    # This request wants free CPUs, and would make the first one wait again.
    first = "observation all came first and waits for CPU 1 of h"
    assert cpus.take("h", [1], "late", queues=True) == first
    assert cpus.take("h", [1], "rude") == first
    cpus.release("h", "a")
    assert cpus.take("h", [1], "late", queues=True) == first
    assert cpus.take("h", [], "all", queues=True) == ""
    assert cpus.take("h", [1], "late") == "observation all has CPU 1 of h"
    cpus.release("h", "all")
    assert cpus.take("h", [1], "late", queues=True) == ""
    assert cpus.take("h", [0], "b") == ""


def test_request_for_other_cpus_passes_the_queue() -> None:
    cpus = Cpus()
    cpus.take("h", [0], "a")
    cpus.take("h", [0, 1], "b", queues=True)
    assert cpus.take("h", [2], "c", queues=True) == ""
    assert cpus.take("other", [0], "d") == ""


def test_leaving_the_queue_unblocks_the_next() -> None:
    cpus = Cpus()
    cpus.take("h", [0], "a")
    cpus.take("h", [], "b", queues=True)
    assert not cpus.release("h", "b")
    assert cpus.take("h", [1], "c") == ""
    # A refused request that does not queue waits for nothing.
    cpus.take("h", [0], "d")
    cpus.release("h", "a")
    assert cpus.take("h", [0], "e") == ""


def test_kept_cpus_are_shared_until_one_owner_releases_them() -> None:
    cpus = Cpus()
    cpus.keep("h", [0, 1], "a")
    cpus.keep("h", [1, 2], "b")
    cpus.keep("h", [3], "c")
    assert cpus.shared("h", "a") == "observation b has CPU 1 of h"
    assert cpus.shared("h", "b") == "observation a has CPU 1 of h"
    assert cpus.shared("h", "c") == cpus.shared("h", "d") == ""
    assert cpus.pinned("h") == {0, 1, 2, 3}
    cpus.release("h", "a")
    assert cpus.shared("h", "b") == cpus.shared("h", "a") == ""
    assert cpus.take("h", [1], "d") == "observation b has CPU 1 of h"
    assert cpus.take("h", [0], "d") == ""
