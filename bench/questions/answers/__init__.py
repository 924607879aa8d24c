"""The right answers to saved queries, computed from the facts of made-up hosts.

``ANSWERS`` maps the name of a saved query to its answer.
"""

from bench.questions.answers import activity, machine, plans, samples, series
from bench.questions.answers.answer import Answer, UnclearError

ANSWERS: dict[str, Answer] = {
    **machine.ANSWERS,
    **plans.ANSWERS,
    **activity.ANSWERS,
    **series.ANSWERS,
    **samples.ANSWERS,
}

__all__ = ["ANSWERS", "Answer", "UnclearError"]
