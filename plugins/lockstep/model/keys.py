"""Typed reading of a config.json: a wrong or missing key is one sentence that names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

__all__ = ["ConfigError", "Keys", "UnknownShape"]


class ConfigError(ValueError):
    """A config.json cannot be used.

    Parameters
    ----------
    where
        File or key.
    problem
        What is wrong, as half a sentence.
    """

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem


class UnknownShape(ConfigError):  # noqa: N818 - it is a limit of ours, not a fault of the config
    """The config may well be right, but it says, or leaves out, something that Lockstep does not know."""


class Keys:
    """A mapping whose values are read with a type; several names are spellings of one key, the first found wins."""

    def __init__(self, where: str, values: Mapping[str, object]) -> None:
        self.where = where
        self.values = values

    def find(self, *names: str) -> tuple[str, object]:
        """Return name and value of the first of ``names`` that is set, else the first name and None."""
        return next(((n, self.values[n]) for n in names if self.values.get(n) is not None), (names[0], None))

    def fail(self, name: str, value: object, wanted: str) -> ConfigError:
        """Return the error for a key of the wrong type, or without a value.

        A key that is left out has a default in the engine, which differs from family to family.
        """
        if value is None:
            return UnknownShape(
                self.where, f"{name} is missing, and Lockstep knows no default for it; {wanted} is needed"
            )
        return ConfigError(self.where, f"{name} is {str(value)[:60]!r}; {wanted} is needed")

    def integer(self, *names: str, default: int | None = None, least: int = 0) -> int:
        """Return a whole number of at least ``least``.

        Raises
        ------
        ConfigError
            If it is missing without a default, or is no such number.
        """
        name, value = self.find(*names)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**53:
            raise self.fail(name, value, f"a whole number of at least {least}")
        return value

    def positive(self, *names: str, default: int | None = None) -> int:
        """Return a whole number of at least 1; raises as ``integer``."""
        return self.integer(*names, default=default, least=1)

    def flag(self, *names: str, default: bool = False) -> bool:
        """Return true or false."""
        name, value = self.find(*names)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.fail(name, value, "true or false")
        return value

    def text(self, *names: str, default: str | None = None) -> str:
        """Return a string; a mapping or list in its place counts as missing when there is a default."""
        name, value = self.find(*names)
        if isinstance(value, str):
            return value
        if default is None:
            raise self.fail(name, value, "a string")
        return default

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings, empty when missing."""
        value = self.values.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise self.fail(name, value, "a list of strings")
        return tuple(value)

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a list of whole numbers, empty when missing."""
        value = self.values.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(v, int) for v in value):
            raise self.fail(name, value, "a list of whole numbers")
        return tuple(value)

    def pair(self, name: str) -> tuple[int, int] | None:
        """Return two whole numbers of at least 1, None when missing."""
        value = self.values.get(name)
        if value is None:
            return None
        numbers = self.integers(name)
        if len(numbers) != 2 or min(numbers) < 1:
            raise self.fail(name, value, "two whole numbers of at least 1")
        return numbers[0], numbers[1]

    def section(self, name: str) -> Keys | None:
        """Return a mapping, None when there is none under that name."""
        value = self.values.get(name)
        return Keys(f"{self.where} {name}", value) if isinstance(value, Mapping) else None

    def items(self) -> Iterator[tuple[str, Keys]]:
        """Yield name and mapping of every value that is a mapping."""
        for name in self.values:
            entry = self.section(name)
            if entry is not None:
                yield name, entry
