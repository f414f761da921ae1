"""Where a function lives: in a class, behind decorators or not, or by itself; and copies of it with other code."""

from __future__ import annotations

from functools import cache, partial
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

from torch import nn

from chebact.surgery.sources import nested_codes

__all__ = ["Home", "find_home", "function_at", "home_of_value", "with_function"]


class Home(NamedTuple):
    """A function: an attribute of a class, or `holder` itself; `path` are the cells that lead into decorators."""

    holder: Any
    name: str
    path: tuple[int, ...]


def find_home(module: nn.Module, code: CodeType) -> Home | None:
    """The home of the method with that code, of the class of a module or of one that it inherits from."""
    kind: Any = type(module)
    return _find_home(kind, code)


@cache
def _find_home(kind: Any, code: CodeType) -> Home | None:
    for holder in kind.__mro__:
        for name, value in vars(holder).items():
            if holder is not nn.Module and (path := _path_to(value, code)) is not None:
                return Home(holder, name, path)
    return None


def home_of_value(value: Any, code: CodeType) -> Home | None:
    """The home of the function that a value calls, if that has this code."""
    while isinstance(value, (MethodType, partial)):
        value = value.__func__ if isinstance(value, MethodType) else value.func
    path = _path_to(value, code)
    return None if path is None else Home(value, "", path)


def _path_to(value: Any, code: CodeType, depth: int = 4) -> tuple[int, ...] | None:
    if not isinstance(value, FunctionType) or not depth:
        return None
    if value.__code__ is code or any(each is code for each in nested_codes(value.__code__)):
        return ()
    for index, cell in enumerate(value.__closure__ or ()):
        path = _path_to(_contents(cell), code, depth - 1)
        if path is not None:
            return (index, *path)
    return None


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def _outermost(home: Home) -> FunctionType:
    found: FunctionType = vars(home.holder)[home.name] if home.name else home.holder
    return found


def function_at(home: Home) -> FunctionType:
    """The function at a home."""
    found = _outermost(home)
    for index in home.path:
        assert found.__closure__ is not None
        found = found.__closure__[index].cell_contents
    return found


def with_function(home: Home, new: FunctionType) -> FunctionType:
    """What lives at a home, with another function in its place: decorators are copied around it."""
    outer = [_outermost(home)]
    for index in home.path:
        outer.append((outer[-1].__closure__ or ())[index].cell_contents)
    made = new
    for wrapper, index in zip(reversed(outer[:-1]), reversed(home.path), strict=True):
        cells = list(wrapper.__closure__ or ())
        cells[index] = CellType(made)
        made = copy_function(wrapper, wrapper.__code__, tuple(cells))
    return made


def copy_function(function: FunctionType, code: CodeType, cells: tuple[CellType, ...]) -> FunctionType:
    """A function with other code, and all else the same."""
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__, made.__qualname__, made.__doc__ = (
        function.__kwdefaults__,
        function.__qualname__,
        function.__doc__,
    )
    made.__annotations__, made.__module__ = function.__annotations__, function.__module__
    made.__dict__.update(function.__dict__)
    return made
