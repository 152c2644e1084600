"""What a memory holds, as all who read it in a process share it: to be read as the dicts and lists
that were given, but not to be changed. A copy of it, however made, is an ordinary one."""

from __future__ import annotations

from typing import Any, NoReturn, cast


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError("what a memory holds is shared by all who read it: change a copy of it")


class SharedDict(dict[str, Any]):
    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class SharedList(list[Any]):
    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


NOTHING = SharedDict()


def shared(held: dict[str, Any]) -> SharedDict:
    return SharedDict({k: _shared(v) if type(v) in _NESTED else v for k, v in held.items()})


def _shared(value: Any) -> Any:
    if type(value) is dict:
        return shared(cast("dict[str, Any]", value))
    if type(value) is list:
        return SharedList(map(_shared, cast("list[Any]", value)))
    return value


_NESTED = (dict, list)
