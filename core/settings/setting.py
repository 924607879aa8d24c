"""What a setting is: its default, its form, and what the documentation says of it.

No pydantic: it makes every command start a tenth of a second later.
"""

import copy
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, dataclass_transform

from core.errors import UserError

Form = Callable[[Any], Any]


class SettingsError(UserError):
    """Settings that cannot be taken; says all that is wrong with them."""

    code = "bad-setting"


class Secret:
    """A text that is not shown where settings are."""

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.reveal() == self._text

    def __hash__(self) -> int:
        return hash(self._text)


@dataclass(frozen=True)
class Setting:
    """``form`` returns the value that is used, or raises ValueError.

    ``default`` is what the form is given, or a function of the settings before it.
    """

    form: Form
    default: Any
    description: str

    def default_beside(self, others: Mapping[str, Any]) -> Any:
        """Its default, where the settings before it have these values."""
        return self.default(others) if callable(self.default) else self.default


def setting(form: Form, *, default: Any, description: str) -> Any:
    """A field of a class of settings."""
    return Setting(form, default, description)


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(setting,)
)
class SettingsBase:
    """Values of all settings: arguments, else the environment, else defaults.

    Raises SettingsError. What is None is not checked.
    """

    fields: ClassVar[Mapping[str, Setting]] = {}

    def __init_subclass__(cls) -> None:
        found = {k: v for k, v in vars(cls).items() if isinstance(v, Setting)}
        cls.fields = found

    def __init__(self, **arguments: Any) -> None:
        wrong = [
            f"there is no setting {name}"
            for name in arguments
            if name not in self.fields
        ]
        values: dict[str, Any] = {}
        given = self.completed(self._environment() | arguments)
        for name, field in self.fields.items():
            value = given[name] if name in given else field.default_beside(values)
            try:
                values[name] = None if value is None else field.form(value)
                self.check(name, values)
            except ValueError as error:
                wrong.append(_line(name, value, error))
        if wrong:
            raise SettingsError("; ".join(wrong))
        vars(self).update(values)

    def completed(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """What is given, and what follows from it."""
        return given

    def check(self, name: str, values: Mapping[str, Any]) -> None:
        """Raise ValueError for a value that those before it do not allow."""

    def but(self, **values: Any) -> Self:
        """The same settings but for these values, which have their form already."""
        changed = copy.copy(self)
        vars(changed).update(values)
        return changed

    def environment(self) -> dict[str, str]:
        """Return the variables that give another process the same settings.

        Secrets are among them: not for files, logs or the eyes of others.
        """
        secrets = {
            variable(name): value.reveal()
            for name, value in vars(self).items()
            if isinstance(value, Secret)
        }
        return self.shown() | secrets

    def shown(self) -> dict[str, str]:
        """Return the same variables without what is secret."""
        return {
            variable(name): str(value)
            for name, value in vars(self).items()
            if value is not None and not isinstance(value, Secret)
        }

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"settings do not change: {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def _environment(cls) -> dict[str, str]:
        """What the environment sets; variables that are no setting are left alone."""
        given = {name.upper(): value for name, value in os.environ.items()}
        names = {name: variable(name) for name in cls.fields}
        return {name: given[of] for name, of in names.items() if of in given}


def variable(name: str) -> str:
    """The variable that sets a setting."""
    return f"SUPERTWIN_{name.upper()}"


def _line(name: str, value: Any, error: ValueError) -> str:
    given = "" if "password" in name else f"={value}"
    return f"{variable(name)}{given}: {error} (see docs/settings.md)"
