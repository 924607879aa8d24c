"""Named locks serve waiters in order and keep nothing after the last release."""

import asyncio

import pytest

from api.plans.named_locks import NamedLocks


def test_locks_of_one_name_are_taken_in_order_and_removed() -> None:
    turns, steps = NamedLocks(), list[str]()

    async def work(name: str, number: int) -> None:
        async with turns.take(name):
            steps.append(f"{name}{number} begins")
            await asyncio.sleep(0.01)
            steps.append(f"{name}{number} ends")
            if number == 1:
                raise ValueError(name)

    async def all_at_once() -> None:
        work_of = [work(name, number) for number in range(3) for name in "ab"]
        tasks = [asyncio.ensure_future(one) for one in work_of]
        await asyncio.sleep(0)
        assert turns._locks.keys() == {"a", "b"}
        tasks[-1].cancel()  # still waiting for its turn
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(all_at_once())
    assert steps[:2] == ["a0 begins", "b0 begins"], "at once"
    for name, numbers in ("a", "012"), ("b", "01"):
        own = [line for line in steps if line[0] == name]
        assert own == [
            f"{name}{number} {step}"
            for number in numbers
            for step in ("begins", "ends")
        ]
    assert not turns._locks and not turns._users


def test_held_lock_excludes_others() -> None:
    turns = NamedLocks()

    async def both() -> None:
        async with turns.take("a"):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(_taken(turns), 0.05)
        await asyncio.wait_for(_taken(turns), 120)

    asyncio.run(both())
    assert not turns._locks


async def _taken(turns: NamedLocks) -> None:
    async with turns.take("a"):
        pass
