"""What a setting is: its parser, its default and its documentation.

Without pydantic, which would delay the start of every command by 0.1 s.
"""

import copy
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, dataclass_transform

from core.errors import UserError

Parser = Callable[[Any], Any]


class SettingsError(UserError):
    """Invalid settings; the text lists everything that is wrong."""

    code = "bad-setting"


class Secret:
    """A text that is not shown together with other settings."""

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
    """``parse`` converts a given value to the one in use, or raises ValueError.

    ``default`` is a given value, or a function of the settings before this one.
    """

    parse: Parser
    default: Any
    description: str

    def default_for(self, before: Mapping[str, Any]) -> Any:
        """Its default, if the settings before it have these values."""
        return self.default(before) if callable(self.default) else self.default


def setting(parse: Parser, *, default: Any, description: str) -> Any:
    """A field of a settings class."""
    return Setting(parse, default, description)


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(setting,)
)
class SettingsBase:
    """Values of all settings: arguments, else the environment, else defaults.

    Raises SettingsError. None is not parsed.
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
            value = given[name] if name in given else field.default_for(values)
            try:
                values[name] = None if value is None else field.parse(value)
                self.check(name, values)
            except ValueError as error:
                wrong.append(_line(name, value, error))
        if wrong:
            raise SettingsError("; ".join(wrong))
        vars(self).update(values)

    def completed(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """The given values, and values that follow from them."""
        return given

    def check(self, name: str, values: Mapping[str, Any]) -> None:
        """Raise ValueError if a value contradicts the settings before it."""

    def with_changes(self, **values: Any) -> Self:
        """The same settings with these values, which are not parsed again."""
        changed = copy.copy(self)
        vars(changed).update(values)
        return changed

    def environment(self) -> dict[str, str]:
        """Return the variables that give another process the same settings.

        They include secrets: do not write them to files or logs.
        """
        secrets = {
            variable(name): value.reveal()
            for name, value in vars(self).items()
            if isinstance(value, Secret)
        }
        return self.shown() | secrets

    def shown(self) -> dict[str, str]:
        """Return the same variables without secrets."""
        return {
            variable(name): str(value)
            for name, value in vars(self).items()
            if value is not None and not isinstance(value, Secret)
        }

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"settings are immutable: {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def _environment(cls) -> dict[str, str]:
        """Values from the environment; variables of unknown settings are ignored."""
        given = {name.upper(): value for name, value in os.environ.items()}
        names = {name: variable(name) for name in cls.fields}
        return {name: given[of] for name, of in names.items() if of in given}


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return f"SUPERTWIN_{name.upper()}"


def _line(name: str, value: Any, error: ValueError) -> str:
    given = "" if "password" in name else f"={value}"
    return f"{variable(name)}{given}: {error} (see docs/settings.md)"
