"""Records behave as dataclasses of the standard library do, and compile nothing when they are declared."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from workbench.records import dataclass as records

T = TypeVar("T")


def declared(decorate: Any) -> dict[str, Any]:
    """Return classes of all the shapes that records have, declared by one decorator."""

    @decorate(frozen=True, slots=True)
    class Base(Generic[T]):
        """Fields with and without defaults."""

        name: str
        items: tuple[int, ...] = ()
        kind: ClassVar[str] = "k"
        seen: list[T] = field(default_factory=list, compare=False, repr=False)
        cache: list[T] = field(init=False, default_factory=list)
        fixed: int = field(init=False, default=7)

        @property
        def count(self) -> int:
            return len(self.items)

    @decorate(frozen=True, slots=True, kw_only=True)
    class Child(Base[int]):
        """Fields of its own, by name only, after those of its base."""

        extra: int
        more: int = 2

    @decorate
    class Plain:
        """Mutable, with something to do after its fields are set."""

        left: int
        right: int = 1

        def __post_init__(self) -> None:
            self.total = self.left + self.right

    @decorate(slots=True, eq=False)
    class Own:
        """Compared by identity."""

        value: int

        def __repr__(self) -> str:
            return "own"

    @decorate(frozen=True, order=True)
    class Ordered:
        """In order; one field alone is a tuple too."""

        place: int

    @decorate(frozen=True, slots=True)
    class Empty:
        """No field at all."""

    class Loose(Ordered):
        """No record itself: what it adds can be set."""

    return {one.__name__: one for one in (Base, Child, Plain, Own, Ordered, Empty, Loose)}


THEIRS = declared(dataclass)
OURS = {few: declared(records.dataclass) for few in (0, 8)}
"""By how many instances are made before `__init__` is compiled."""


def outcome(act: Any) -> Any:
    """Return what came of an act: its value, or the type and the words of its error."""
    try:
        return act()
    except (TypeError, AttributeError, ValueError) as error:
        return type(error), str(error).replace("declared.<locals>.", "")


def frozen(one: Any, name: str) -> Any:
    """Set and delete an attribute, and return what came of both."""
    return outcome(lambda: setattr(one, name, 1)), outcome(lambda: delattr(one, name))


ACTS: list[Any] = [
    lambda k: k["Base"]("a"),
    lambda k: k["Base"]("a", (1,), [2]),
    lambda k: asdict(k["Base"](name="a", seen=[2])),
    lambda k: k["Base"]("a").seen is k["Base"]("a").seen,
    lambda k: k["Base"]("a", cache=[]),
    lambda k: k["Base"]("a", name="b"),
    lambda k: k["Base"]("a", (), [], 1),
    lambda k: k["Base"](),
    lambda k: k["Base"]("a", seen=[1]) == k["Base"]("a", seen=[2]),
    lambda k: k["Base"]("a") == k["Child"]("a", extra=1),
    lambda k: k["Base"]("a").__eq__(1),
    lambda k: hash(k["Empty"]()) == hash(k["Empty"]()),
    lambda k: {k["Ordered"](1): "x"}[k["Ordered"](1)],
    lambda k: hash(k["Ordered"](3)),
    lambda k: hash(k["Base"]("a")),
    lambda k: hash(k["Plain"](1)),
    lambda k: k["Child"]("a", (1,), extra=3),
    lambda k: k["Child"]("a", (1,), [], 3),
    lambda k: replace(k["Child"]("a", extra=3), more=5),
    lambda k: replace(k["Base"]("a"), fixed=5),
    lambda k: [(one.name, one.kw_only, one.init) for one in fields(k["Child"])],
    lambda k: k["Child"].__match_args__,
    lambda k: k["Child"].__slots__,
    lambda k: hasattr(k["Child"]("a", extra=1), "__dict__"),
    lambda k: (k["Plain"](1).total, k["Plain"](1, right=4)),
    lambda k: k["Plain"](1) == k["Plain"](1),
    lambda k: (k["Own"](1) == k["Own"](1), repr(k["Own"](1)), {k["Own"](1)} == set()),
    lambda k: sorted([k["Ordered"](2), k["Ordered"](1)]),
    lambda k: (k["Ordered"](1) >= k["Ordered"](1), outcome(lambda: k["Ordered"](1) < 2)),
    lambda k: frozen(k["Base"]("a"), "name"),
    lambda k: frozen(k["Ordered"](1), "other"),
    lambda k: setattr(k["Loose"](1), "other", 1),
    lambda k: frozen(k["Loose"](1), "place"),
    lambda k: copy.deepcopy(k["Child"]("a", (1,), extra=3)),
    lambda k: dataclasses.is_dataclass(k["Empty"]) and k["Empty"].__doc__,
]


@pytest.mark.parametrize("few", OURS)
@pytest.mark.parametrize("place", range(len(ACTS)))
def test_a_record_is_a_dataclass(place: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Making, comparing, hashing, printing, replacing, copying and refusing: all as the standard library."""
    monkeypatch.setattr(records, "_FEW", few)
    ours, theirs = outcome(lambda: ACTS[place](OURS[few])), outcome(lambda: ACTS[place](THEIRS))
    assert repr(ours) == repr(theirs)


@records.dataclass(frozen=True, slots=True)
class Sent:
    """Goes to another process."""

    name: str
    parts: tuple[str, ...] = ()


def test_a_record_goes_to_other_processes() -> None:
    """Frozen records with slots are pickled, which Python alone could not put together again."""
    one = Sent("a", ("b",))
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(FrozenInstanceError):
        one.name = "b"  # type: ignore[misc]
    hints: dict[str, Any] = {"recursive": Sent("x")}
    object.__setattr__(hints["recursive"], "parts", (hints["recursive"],))
    assert repr(hints["recursive"]) == "Sent(name='x', parts=(...,))"


def test_declaring_a_record_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The standard library makes its methods by `exec`, which is what a cold start cannot afford."""
    made: list[str] = []
    real = dataclasses._create_fn  # type: ignore[attr-defined]

    def watched(name: str, *given: Any, **named: Any) -> Any:
        made.append(name)
        return real(name, *given, **named)

    monkeypatch.setattr(dataclasses, "_create_fn", watched)
    declared(records.dataclass)
    assert made == []
    declared(dataclass)
    assert "__init__" in made
