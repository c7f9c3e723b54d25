"""Dataclasses that are cheap to declare, for records that every cold start imports and few of them uses.

The standard library compiles up to eight methods of each dataclass when its module is imported, 0.3 ms for a
frozen one with slots: a quarter of a cold plan. Here `__init__` is compiled where a record has more than a
few instances, and what compares, hashes, prints and copies is shared by all. Fields are the standard
library's: so are `replace`, `fields` and `asdict`. What no record needs, `InitVar` and
`unsafe_hash`, is not offered.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from functools import cache
from itertools import count
from operator import attrgetter, ge, gt, le, lt
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        kind: type | None = None,
        /,
        *,
        frozen: bool = False,
        slots: bool = False,
        kw_only: bool = False,
        eq: bool = True,
        order: bool = False,
    ) -> Any:  # noqa: ANN401 - as in the standard library
        """Return a class as `dataclasses.dataclass` does; records inherit from records declared here only."""

        def declare(kind: type) -> type:
            own = set(vars(kind))
            if "__eq__" in own and vars(kind)["__hash__"] is None:
                own.remove("__hash__")  # Python's doing, not the class's own
            _add_fields(kind, kw_only=kw_only)
            made = _with_slots(kind) if slots else kind
            methods = {"__init__": _first_init(made, frozen=frozen), "__repr__": _repr}
            if eq:
                methods |= {"__eq__": _equal, "__hash__": _hash if frozen else None}
            if order:
                methods |= _ORDER
            if frozen:
                methods |= _frozen(made)
            if frozen and slots:
                methods |= {"__getstate__": _state, "__setstate__": _take_state}
            for name, method in methods.items():
                if name not in own:
                    setattr(made, name, method)
            return made

        return declare if kind is None else declare(kind)


@dataclasses.dataclass(init=False, repr=False, eq=False)
class _Empty:
    """What the standard library declares, for what it writes beside the fields."""


def _add_fields(kind: Any, *, kw_only: bool) -> None:  # noqa: ANN401 - any class
    """Declare the fields of a class as `dataclasses.dataclass` does, at a fourth of its cost."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__[1:]):
        found |= getattr(base, "__dataclass_fields__", {})
    for name, annotation in kind.__annotations__.items():
        if "ClassVar" in str(annotation):
            continue
        given: Any = getattr(kind, name, MISSING)
        if isinstance(given, MemberDescriptorType):  # the slot of a field that a base has
            given = MISSING
        one: Any = given if isinstance(given, dataclasses.Field) else dataclasses.field(default=given)
        if one.default is not MISSING and type(one.default).__hash__ is None:
            raise ValueError(f"mutable default of the field {name}: use default_factory")
        one.name, one.type, one._field_type = name, annotation, dataclasses._FIELD  # type: ignore[attr-defined]
        if one.kw_only is MISSING:
            one.kw_only = kw_only
        if one is given and one.default is MISSING:
            delattr(kind, name)
        elif one is given:
            setattr(kind, name, one.default)
        found[name] = one
    kind.__dataclass_fields__ = found
    kind.__dataclass_params__ = _Empty.__dataclass_params__  # type: ignore[attr-defined]
    in_order = tuple(one.name for one in found.values() if one.init and not one.kw_only)
    setattr(kind, "__match_args__", in_order)  # noqa: B010 - which types allow no assignment


def _with_slots(kind: Any) -> Any:  # noqa: ANN401 - any class
    """Return a class again, with slots for the fields that no base has one for."""
    inherited = {name for base in kind.__mro__[1:] for name in vars(base).get("__slots__", ())}
    names = kind.__dataclass_fields__.keys()
    values = {name: value for name, value in vars(kind).items() if name not in names}
    values.pop("__dict__", None)
    values.pop("__weakref__", None)
    values["__slots__"] = tuple(name for name in names if name not in inherited)
    made = type(kind)(kind.__name__, kind.__bases__, values)
    made.__qualname__ = kind.__qualname__
    return made


_PREFIX: Final = "_of_record_"
_FEW: Final = 8  # instances: compiling takes longer than setting their fields one by one


def _first_init(kind: Any, *, frozen: bool) -> Callable[..., None]:  # noqa: ANN401 - any dataclass
    """Return the `__init__` of the first few instances; after them, or called wrongly, it is compiled."""
    made = count(1)
    put: Callable[[object, str, object], None] = object.__setattr__ if frozen else setattr

    def __init__(self: Any, /, *given: object, **named: object) -> None:  # noqa: ANN401 - any dataclass
        values = None if next(made) > _FEW else _bind(kind, given, named)
        if values is None:
            kind.__init__ = _compile_init(kind, frozen=frozen)
            kind.__init__(self, *given, **named)
            return
        for name, value in values.items():
            put(self, name, value)
        if hasattr(kind, "__post_init__"):
            self.__post_init__()

    return __init__


def _bind(kind: Any, given: tuple[object, ...], named: dict[str, object]) -> dict[str, object] | None:  # noqa: ANN401
    """Return the values of an instance's fields, None for arguments that do not fit."""
    order: tuple[str, ...] = kind.__match_args__
    placed = dict(zip(order, given, strict=False))
    if len(given) > len(order) or not placed.keys().isdisjoint(named):
        return None
    placed |= named
    values: dict[str, object] = {}
    for name, field in kind.__dataclass_fields__.items():
        if field.init and name in placed:
            values[name] = placed.pop(name)
        elif field.default is not MISSING:
            values[name] = field.default
        elif field.default_factory is not MISSING:
            values[name] = field.default_factory()
        elif field.init:
            return None
    return None if placed else values


def _compile_init(kind: Any, *, frozen: bool) -> Callable[..., None]:  # noqa: ANN401 - any dataclass
    """Return the method that sets the fields of a dataclass, given in order or by name."""
    values: dict[str, object] = {f"{_PREFIX}put": object.__setattr__, f"{_PREFIX}missing": MISSING}
    plain, named, lines = ["self"], ["*"], []
    for field in fields(kind):
        name, value = field.name, field.name
        default, make = f"{_PREFIX}default_{name}", f"{_PREFIX}make_{name}"
        values |= {default: field.default, make: field.default_factory}
        if field.default_factory is not MISSING:
            value = f"{name} if {name} is not {_PREFIX}missing else {make}()" if field.init else f"{make}()"
            default = f"{_PREFIX}missing"
        elif not field.init and field.default is MISSING:
            continue
        elif not field.init:
            value = default
        if field.init:
            optional = field.default is not MISSING or field.default_factory is not MISSING
            (named if field.kw_only else plain).append(f"{name}={default}" if optional else name)
        slot = getattr(kind, name, None)
        if not frozen:
            lines.append(f"self.{name} = {value}")
        elif isinstance(slot, MemberDescriptorType):  # a third cheaper than finding it by its name
            values[f"{_PREFIX}put_{name}"] = slot.__set__
            lines.append(f"{_PREFIX}put_{name}(self, {value})")
        else:
            lines.append(f"{_PREFIX}put(self, {name!r}, {value})")
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(plain + named if len(named) > 1 else plain)
    exec(f"def __init__({parameters}):\n " + "\n ".join(lines or ["pass"]), values)
    found: Any = values["__init__"]
    found.__qualname__ = f"{kind.__qualname__}.__init__"
    return found  # type: ignore[no-any-return]


def _read_compared(kind: Any) -> Callable[[object], tuple[object, ...]]:  # noqa: ANN401 - any dataclass
    """Return what reads the fields of a dataclass that are compared, as a tuple."""
    names = [field.name for field in fields(kind) if field.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


_compared: Final[Callable[[Any], Callable[[object], tuple[object, ...]]]] = cache(_read_compared)


def _equal(self: Any, other: object) -> Any:  # noqa: ANN401 - what Python asks for
    if other.__class__ is not self.__class__:
        return NotImplemented
    read = _compared(type(self))
    return read(self) == read(other)


def _hash(self: Any) -> int:  # noqa: ANN401 - any dataclass
    return hash(_compared(type(self))(self))


def _ordering(compare: Callable[[Any, Any], bool]) -> Callable[[object, object], Any]:
    def ordered(self: Any, other: object) -> Any:  # noqa: ANN401 - what Python asks for
        if other.__class__ is not self.__class__:
            return NotImplemented
        read = _compared(type(self))
        return compare(read(self), read(other))

    return ordered


_ORDER: Final = {f"__{compare.__name__}__": _ordering(compare) for compare in (lt, le, gt, ge)}


@recursive_repr()
def _repr(self: Any) -> str:  # noqa: ANN401 - any dataclass
    shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _frozen(kind: Any) -> dict[str, Callable[..., None]]:  # noqa: ANN401 - any dataclass
    def refused(self: object, name: str) -> bool:
        return type(self) is kind or name in kind.__dataclass_fields__

    def __setattr__(self: object, name: str, value: object) -> None:
        if refused(self, name):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(kind, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:
        if refused(self, name):
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(kind, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _state(self: Any) -> list[object]:  # noqa: ANN401 - any dataclass
    return [getattr(self, field.name) for field in fields(self)]


def _take_state(self: Any, state: list[object]) -> None:  # noqa: ANN401 - any dataclass
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
