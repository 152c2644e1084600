"""Making many values of one frozen type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields, make_dataclass
from operator import attrgetter
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


def maker(kind: Callable[P, T]) -> Callable[P, T]:
    """As `kind`, a frozen dataclass with slots, in less time. A frozen class sets each
    field by `object.__setattr__`, which looks up the name every time; a twin that is not frozen
    stores it. What the twin made then becomes one of `kind`: the slots are the same."""
    frozen: Any = kind

    def freeze(self: Any) -> None:
        self.__class__ = frozen

    twin = make_dataclass(
        frozen.__name__,
        [
            (
                f.name,
                f.type,
                field(default=f.default, default_factory=f.default_factory, kw_only=f.kw_only),
            )
            for f in fields(frozen)
        ],
        namespace={"__post_init__": freeze},
        eq=False,
        repr=False,
        slots=True,
    )
    return cast("Callable[P, T]", twin)


def changer(kind: type[T]) -> Callable[..., T]:
    """As `dataclasses.replace` for such a class: one like the first, but for what is named."""
    make: Callable[..., T] = maker(kind)
    names = [f.name for f in fields(cast("Any", kind))]
    held = attrgetter(*names)  # all of them in one step

    def change(one: T, **changes: Any) -> T:
        return make(**dict(zip(names, held(one), strict=True)) | changes)

    return change
