"""Types of options and arguments: numbers, texts and paths, which are validated."""

import math
from pathlib import Path
from typing import Any
from unicodedata import category

import click


class FiniteNumber(click.FloatRange):
    """A number in a range; NaN and infinities are outside of every range."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


class Utf8Text(click.ParamType[str]):
    """A text in UTF-8; other bytes, which Python has as surrogates, are an error."""

    name = "text"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Return the text."""
        text = str(value)
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail(f"{text!r} is not UTF-8", param, ctx)
        return text


class NonEmptyText(Utf8Text):
    """A text of one line; an empty one, from an unset variable, is an error."""

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Return the text."""
        text = super().convert(value, param, ctx)
        if not text:
            self.fail("it is empty: give a value, or omit the option", param, ctx)
        if any(category(c) == "Cc" for c in text):
            self.fail(f"{text!r} has control characters: leave them out", param, ctx)
        return text


UTF8_TEXT, TEXT = Utf8Text(), NonEmptyText()


class NonEmptyPath(click.Path):
    """A path; an empty one, from an unset variable, is an error."""

    def __init__(self, **limits: bool) -> None:
        super().__init__(path_type=Path, **limits)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path, which pathlib would take for the current folder."""
        if not str(value):
            self.fail("it is empty: give a path", param, ctx)
        return super().convert(value, param, ctx)
