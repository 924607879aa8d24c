"""The profile of a run in a few lines of text."""

from collections.abc import Iterator

from observations.profiles.profile import Profile

_SHOWN, _NAME = 5, 40


def table(profile: Profile) -> list[str]:
    """Return a line for each of the hottest functions, and how they were found."""
    return list(_lines(profile))


def _lines(profile: Profile) -> Iterator[str]:
    if profile.reason:
        yield f"no profile: {profile.reason}"
        return
    yield (
        f"profile: {profile.samples} stacks by {profile.sampler} at {profile.rate} Hz, "
        f"{profile.lost} lost"
    )
    yield from profile.notes
    own, total = profile.own_samples(), profile.total_samples()
    yield f"{'function':{_NAME}}{'own':>8}{'total':>8}"
    hottest = sorted(range(len(own)), key=lambda at: (-own[at], profile.title(at)))
    for at in hottest[:_SHOWN]:
        shares = (f"{n / profile.samples:8.1%}" for n in (own[at], total[at]))
        yield f"{_cut(profile.title(at)):{_NAME}}{''.join(shares)}"
    for binary in profile.binaries:
        if binary.reason and binary.path.startswith("/"):
            build = binary.build_id or "none"
            yield f"{binary.path} (build id {build}): {binary.reason}"


def _cut(name: str) -> str:
    return name if len(name) < _NAME else f"{name[: _NAME - 2]}…"
