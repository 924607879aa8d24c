"""The profiles of a run in a few lines of text."""

from collections.abc import Iterator

from observations.profiles.profile import Profile, ProfileKind

_SHOWN = 8
_HEAD = f"{'own':>7}{'total':>8}  function"


def profile_table(profile: Profile) -> list[str]:
    """Return a line for each function with most own samples, and how it was found."""
    return list(_lines(profile))


def _lines(profile: Profile) -> Iterator[str]:
    is_on = profile.kind is ProfileKind.ON_CPU
    name = "profile" if is_on else "off-CPU profile"
    if profile.reason:
        yield f"no {name}: {profile.reason}"
        return
    how = f"{profile.samples} samples of {profile.sampler} at {profile.rate} Hz"
    if not is_on:
        how = f"{profile.waits} waits, {profile.waited_ns / 1e9:.3g} s of all threads"
    yield f"{name}: {how}, {profile.lost} lost"
    if profile.note:
        yield profile.note
    yield _HEAD
    shares = sorted(profile.functions().items(), key=lambda pair: -pair[1].own)
    for function, share in shares[:_SHOWN]:
        binary = function.binary.rpartition("/")[2]
        yield f"{share.own:7.1%}{share.total:8.1%}  {function.name} ({binary})"
