"""Typed reading of JSON that anybody may have written: every wrong value is one clear message, never a traceback."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from bench.records.vocabulary import (
    LARGEST_COUNT,
    LARGEST_SECONDS,
    LARGEST_SIZE,
    Count,
    Seconds,
    Size,
    UtcTime,
    Whole,
)

T = TypeVar("T")
LARGEST_JSON_BYTES = 64 * 2**20
LARGEST_NUMBER = 1e30
"""Products and squares of such numbers are still finite."""


class BadFileError(ValueError):
    """A stored file is not what it should be; the message says why and what to do, the caller says which."""


def read_json(path: Path) -> Fields:
    """The object in a file. Raises BadFileError where there is none."""
    try:
        if path.stat().st_size > LARGEST_JSON_BYTES:
            raise BadFileError(f"larger than {LARGEST_JSON_BYTES >> 20} MiB: not a file of ours")
        value = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
        json.dumps(value, ensure_ascii=False).encode()  # lone surrogates cannot be stored
    except OSError as error:
        raise BadFileError(f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, BadFileError):
            raise
        raise BadFileError(f"not valid JSON: {str(error)[:120]}") from error
    if not isinstance(value, dict):
        raise BadFileError(f"holds {type(value).__name__}, not an object")
    return Fields(value, "")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


@dataclass(frozen=True)
class Fields:
    """An object's values, each checked when it is asked for. Every method raises BadFileError."""

    value: dict[str, Any]
    prefix: str

    def _wrong(self, name: str, wanted: str) -> BadFileError:
        shown = repr(self.value.get(name))[:60] if name in self.value else "missing"
        return BadFileError(f"{self.prefix}{name} is {shown}, not {wanted}")

    def text(self, name: str) -> str:
        value = self.value.get(name)
        if isinstance(value, str):
            return value
        raise self._wrong(name, "text")

    def one_of(self, name: str, *choices: str) -> str:
        value = self.value.get(name)
        if isinstance(value, str) and value in choices:
            return value
        raise self._wrong(name, " or ".join(choices))

    def integer(self, name: str, largest: int = 2**31 - 1) -> int:
        value = self.value.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= largest:
            return value
        raise self._wrong(name, f"a whole number from 0 to {largest:,}")

    def count(self, name: str) -> int:
        return self.integer(name, LARGEST_COUNT)

    def size(self, name: str) -> int:
        return self.integer(name, LARGEST_SIZE)

    def number(self, name: str) -> float:
        value = self.value.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or math.isnan(value):
            raise self._wrong(name, "a number")
        if abs(value) > LARGEST_NUMBER:
            raise self._wrong(name, f"a number from {-LARGEST_NUMBER:g} to {LARGEST_NUMBER:g}")
        return float(value)

    def seconds(self, name: str) -> float:
        value = self.value.get(name)
        if isinstance(value, int | float) and abs(value) > LARGEST_SECONDS:
            shown = repr(value)[:60]
            raise BadFileError(f"{self.prefix}{name} is {shown}, larger than any time measured, in seconds")
        return self.number(name)

    def duration(self, name: str) -> float:
        """Seconds above zero."""
        if (value := self.seconds(name)) > 0:
            return value
        raise self._wrong(name, "a time above 0")

    def boolean(self, name: str) -> bool:
        value = self.value.get(name)
        if isinstance(value, bool):
            return value
        raise self._wrong(name, "true or false")

    def texts(self, name: str) -> list[str]:
        value = self.value.get(name)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return value
        raise self._wrong(name, "a list of text")

    def time(self, name: str) -> datetime:
        """Naive, in UTC."""
        try:
            value = datetime.fromisoformat(self.text(name))
            return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        except (ValueError, OverflowError):
            raise self._wrong(name, "a time as ISO 8601") from None

    def object(self, name: str) -> Fields:
        value = self.value.get(name)
        if isinstance(value, dict):
            return Fields(value, f"{self.prefix}{name}.")
        raise self._wrong(name, "an object")

    def objects(self, name: str) -> list[Fields]:
        value = self.value.get(name)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self._wrong(name, "a list of objects")
        return [Fields(item, f"{self.prefix}{name}[{number}].") for number, item in enumerate(value)]

    def optional(self, read: Callable[[str], T], name: str) -> T | None:
        """What `read` makes of it; null where it is null or missing."""
        return None if self.value.get(name) is None else read(name)

    def checked(self, record: type[Any], without: Collection[str] = ()) -> dict[str, Any]:
        """The values of a record's fields, by name, each of the type that the record gives it."""
        hints = get_type_hints(record, include_extras=True)
        return {
            field.name: self._value(field.name, hints[field.name])
            for field in dataclasses.fields(record)
            if field.name not in without
        }

    def _value(self, name: str, hint: Any) -> Any:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is UnionType or origin is Union:  # `X | None` is the only one
            return self.optional(lambda known: self._value(known, arguments[0]), name)
        if origin is Literal:
            return self.one_of(name, *arguments)
        return _READ[hint](self, name)

    def json(self) -> str:
        """As text."""
        return json.dumps(self.value, ensure_ascii=False)


_READ: dict[Any, Callable[[Fields, str], Any]] = {
    str: Fields.text,
    bool: Fields.boolean,
    float: Fields.number,
    Whole: Fields.integer,
    Count: Fields.count,
    Size: Fields.size,
    Seconds: Fields.seconds,
    UtcTime: Fields.time,
    list[str]: Fields.texts,
    dict[str, Any]: lambda fields, name: fields.object(name).json(),
}
"""What checks a field of a record, by its type."""
