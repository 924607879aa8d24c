"""The forms that a model of the runtime may have.

A model is a sum of terms, each with a coefficient, as equation 3.1 of the thesis. A
term depends on the number of threads. If it is work, it is multiplied by powers and
logarithms of the settings (the normal form of Calotoiu et al., SC 2013).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from observations.errors import ModelInputError
from observations.models.runs import THREADS
from observations.pop.fits import AMDAHL, USL

Vector = NDArray[np.float64]
# x^exponent log2(x)^logs
Power = tuple[float, int]

NO_POWER: Power = (0.0, 0)
_POWERS = (
    *((half / 2, 0) for half in range(-2, 7)),
    *((half / 2, 1) for half in range(7)),
)
_FEW_POWERS = tuple((float(whole), 0) for whole in range(4))
# All powers of three settings are 16**3 = 4096 combinations for each form: too slow.
_FEWEST_WITH_WHOLE_POWERS, _MOST_SETTINGS = 3, 4


@dataclass(frozen=True)
class Term:
    """A function of the number of threads, times the work if ``is_work``."""

    text: str
    of_threads: Callable[[Vector], Vector]
    is_work: bool = True


@dataclass(frozen=True)
class Form:
    """The terms of a model."""

    name: str
    terms: tuple[Term, ...]

    @property
    def has_start(self) -> bool:
        """Whether a term does not depend on the settings."""
        return not self.is_work.all()

    @property
    def is_work(self) -> NDArray[np.bool_]:
        """Which of the terms are work."""
        return np.array([term.is_work for term in self.terms])

    def of_threads(self, threads: Vector) -> Vector:
        """Return a row for each run, a column for each term, without the work."""
        return np.column_stack([term.of_threads(threads) for term in self.terms])


_CONSTANT = Term("1", np.ones_like)
_START = Term("1", np.ones_like, is_work=False)
_LINEAR = Term("(threads - 1)", lambda n: n - 1)
_AMDAHL = tuple(map(Term, ("1", "1/threads"), AMDAHL.terms))
_USL_TEXTS = ("1/threads", "(threads - 1)/threads", "(threads - 1)")

FORMS = (
    Form("constant", (_CONSTANT,)),
    Form("parallel", (_AMDAHL[1],)),
    Form("start and work", (_START, _CONSTANT)),
    Form("start and parallel work", (_START, _AMDAHL[1])),
    Form("linear", (_CONSTANT, _LINEAR)),
    Form("Amdahl", _AMDAHL),
    Form("USL", tuple(map(Term, _USL_TEXTS, USL.terms))),
)


@dataclass(frozen=True)
class Formula:
    """A form with the powers of the settings that its work has."""

    form: Form
    powers: Mapping[str, Power]

    def columns(self, inputs: Mapping[str, Vector]) -> Vector:
        """Return a row for each run, and a column for each term."""
        threads = _threads(inputs)
        work = work_of(self.powers, inputs)[:, None]
        factor = np.where(self.form.is_work, work, 1.0)
        return np.array(self.form.of_threads(threads) * factor)

    @property
    def terms(self) -> list[str]:
        """The terms as text."""
        return [self._term(term) for term in self.form.terms]

    def _term(self, term: Term) -> str:
        work = [_text(*one) for one in self.powers.items() if one[1] != NO_POWER]
        if not term.is_work or not work:
            return term.text
        text = " ".join(work)
        return text + term.text[1:] if term.text[0] == "1" else f"{text} {term.text}"

    def __str__(self) -> str:
        parts = zip("abc", self.terms, strict=False)
        return "T = " + " + ".join(
            letter + term[1:] if term[0] == "1" else f"{letter} {term}"
            for letter, term in parts
        )


def work_of(powers: Mapping[str, Power], inputs: Mapping[str, Vector]) -> Vector:
    """Return the product of the powers of the settings, for each run."""
    found = np.ones_like(next(iter(inputs.values())))
    for name, (exponent, logs) in powers.items():
        found = found * inputs[name] ** exponent * np.log2(inputs[name]) ** logs
    return found


def all_powers(settings: Sequence[str]) -> list[Mapping[str, Power]]:
    """Return the powers to try for settings that vary; raises ModelInputError."""
    if len(settings) > _MOST_SETTINGS:
        raise ModelInputError(
            f"the runs differ in {len(settings)} settings ({', '.join(settings)}), but "
            f"a model has at most {_MOST_SETTINGS}: tag runs that differ in fewer"
        )
    tried = _POWERS if len(settings) < _FEWEST_WITH_WHOLE_POWERS else _FEW_POWERS
    return [
        dict(zip(settings, powers, strict=True))
        for powers in product(tried, repeat=len(settings))
    ]


def machine_form(peaks: Mapping[int, float], memory: Mapping[int, float]) -> Form:
    """Return equation 3.2: work that is limited by the peak or the memory bandwidth.

    Both are rates that were measured with some numbers of threads.
    """
    terms = (
        _CONSTANT,
        Term("1/peak(threads)", _slowness(peaks)),
        Term("1/bandwidth(threads)", _slowness(memory)),
    )
    return Form("machine", terms)


def _slowness(rates: Mapping[int, float]) -> Callable[[Vector], Vector]:
    """Return the inverse of a rate, interpolated and relative to its maximum."""
    counts = sorted(rates)
    measured = np.array([rates[count] for count in counts])
    return lambda n: np.array(measured.max() / np.interp(n, counts, measured))


def _threads(inputs: Mapping[str, Vector]) -> Vector:
    """Return the threads of each run; 1 if they are not known."""
    return inputs.get(THREADS, np.ones_like(next(iter(inputs.values()))))


def _text(name: str, power: Power) -> str:
    exponent, logs = power
    words = [f"{name}^{exponent:g}" if exponent != 1 else name] if exponent else []
    return " ".join([*words, *([f"log2({name})"] * logs)])
