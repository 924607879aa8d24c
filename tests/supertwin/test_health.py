"""Checks of the supervisor's children."""

import asyncio

import pytest

from supertwin.stack import health


def test_cancellation_together_with_an_answer_is_not_lost() -> None:
    async def watched() -> bool:
        answers = [asyncio.get_running_loop().create_future() for _ in range(2)]
        waiting = iter(answers)

        async def check() -> str | None:
            await next(waiting)
            return None

        async def watch() -> None:
            for _ in answers:
                await health.bounded(check)()

        task = asyncio.ensure_future(watch())
        for _ in range(5):
            await asyncio.sleep(0)
        answers[0].set_result(None)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task}, timeout=1)
        return task.cancelled()

    assert asyncio.run(watched())


def test_silent_check_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "TIMEOUT", 0.1)

    async def check() -> str | None:
        await asyncio.sleep(60)
        return None

    assert asyncio.run(health.bounded(check)()) == "no answer in 0 s"
