"""Functions of a model: their source, if that is what runs, where they live, and copies with other code."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from copy import deepcopy
from functools import cache, lru_cache, partial
from types import CellType, CodeType, FunctionType, MethodType, NoneType
from typing import Any, NamedTuple

from torch import nn

__all__ = [
    "Definition",
    "Home",
    "call_at",
    "calls_in",
    "compile_function",
    "contents_of",
    "definition_of",
    "find_home",
    "function_at",
    "home_of_value",
    "homes_of",
    "loops_around",
    "nested_codes",
    "remember",
    "stays",
    "with_function",
]


Definition = ast.FunctionDef | ast.Lambda
FUTURES = 0x1FF0000  # flags of `from __future__ import`


class _File:
    """The functions of a file by first line and name, and its imports, on which the code of a call depends."""

    def __init__(self, text: str) -> None:
        try:
            nodes = list(ast.walk(ast.parse(text)))
        except (SyntaxError, ValueError):
            nodes = []
        self.functions: dict[tuple[int, str], list[Any]] = {}
        for each in nodes:
            if isinstance(each, Definition):
                self.functions.setdefault((_first_line(each), getattr(each, "name", "<lambda>")), []).append(each)
        inner = {id(part) for each in nodes if isinstance(each, Definition) for part in ast.walk(each)}
        imports = [each for each in nodes if isinstance(each, ast.Import | ast.ImportFrom) and id(each) not in inner]
        self.imports: list[Any] = [each for each in imports if getattr(each, "module", "") != "__future__"]


@lru_cache(maxsize=256)
def _file(name: str, lines: int) -> _File:
    return _File("".join(linecache.getlines(name)))


def _file_of(code: CodeType) -> _File:
    return _file(code.co_filename, len(linecache.getlines(code.co_filename)))


_KNOWN: dict[CodeType, Definition] = {}


def remember(code: CodeType, node: Definition) -> None:
    """The definition of code that is in no file."""
    _KNOWN[code] = node


@cache
def definition_of(code: CodeType) -> Definition | None:
    """The node of a function in its file, or None where there is no source, or another than what runs."""
    if code in _KNOWN:
        return _KNOWN[code]
    for found in _file_of(code).functions.get((code.co_firstlineno, code.co_name), ()):
        if _alike(compile_function(found, code), code):
            definition: Definition = found
            return definition
    return None


def _first_line(node: Any) -> int:
    first: int = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    return first


def compile_function(node: Definition, like: CodeType) -> CodeType:
    """The code of a definition, in the place of another: inside of the same class, with the same free variables."""
    made = as_statement(deepcopy(node))
    made.decorator_list, made.returns, made.type_params = [], None, []
    for each in ast.walk(made.args):
        if isinstance(each, ast.arg):
            each.annotation = None
    made.args.defaults, made.args.kw_defaults = [], [None] * len(made.args.kwonlyargs)
    before = like.co_qualname.split(".")[:-1]
    around: Any = made
    if before and before[-1] != "<locals>":  # a class, whose name is in names such as __own
        around = ast.ClassDef(before[-1], [], [], [made], [])
    free = [ast.arg(name) for name in like.co_freevars if name != "__class__"]
    body: list[Any] = [around]
    if around is not made and before[-1] not in like.co_freevars:  # methods find the class by its global name
        body.insert(0, ast.Global([before[-1]]))
    outer = ast.FunctionDef("_make", ast.arguments([], free, None, [], [], None, []), body, [])
    module = ast.fix_missing_locations(ast.Module([outer, *_file_of(like).imports], []))
    code: CodeType = compile(module, like.co_filename, "exec", flags=like.co_flags & FUTURES, dont_inherit=True)
    for _ in range(2 if around is made else 3):
        code = next(each for each in code.co_consts if isinstance(each, CodeType))
    return code


def as_statement(node: Any) -> Any:
    """A lambda as a function that returns what it gives; a function itself."""
    if not isinstance(node, ast.Lambda):
        return node
    body: list[ast.stmt] = [ast.copy_location(ast.Return(node.body), node.body)]
    return ast.copy_location(ast.FunctionDef("_lambda", node.args, body, []), node)


def _alike(one: CodeType, other: CodeType) -> bool:
    """Whether two codes do the same."""
    inner = [list(nested_codes(each, deep=False)) for each in (one, other)]
    constants = [[c for c in each.co_consts if not isinstance(c, CodeType)] for each in (one, other)]
    return (
        one.co_code == other.co_code
        and one.co_names == other.co_names
        and len(inner[0]) == len(inner[1])
        and (repr(constants[0]) == repr(constants[1]) or one.co_name == "_lambda")
        and all(map(_alike, *inner))
    )


def nested_codes(code: CodeType, deep: bool = True) -> Iterator[CodeType]:
    """The codes of the functions and comprehensions inside of a function."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from nested_codes(each) if deep else ()


@cache
def calls_in(node: Definition) -> tuple[ast.Call, ...]:
    """The calls in a definition, in the order of the tree."""
    return tuple(each for each in ast.walk(node) if isinstance(each, ast.Call))


def call_at(node: Definition, end: tuple[int, int]) -> ast.Call | None:
    """The call that ends at a line and a column: no two do."""
    return next((each for each in calls_in(node) if (each.end_lineno, each.end_col_offset) == end), None)


def loops_around(node: Definition, call: ast.Call) -> list[ast.AST]:
    """What may run a call several times: loops, comprehensions, and functions inside of the definition."""
    kinds = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp, ast.FunctionDef, ast.Lambda)
    return [each for each in ast.walk(node) if isinstance(each, kinds) and each is not node and _inside(each, call)]


def _inside(loop: Any, call: ast.Call) -> bool:
    """Whether a call is in the part of a loop that is repeated; the first iterable is not."""
    first = loop.iter if isinstance(loop, ast.For) else getattr(loop, "generators", [None])[0]
    first = first.iter if isinstance(first, ast.comprehension) else first
    if first is not None and any(each is call for each in ast.walk(first)):
        return False
    return any(each is call for each in ast.walk(loop))


def stays(node: ast.expr, definition: Definition) -> bool:
    """Whether an expression means the same thing in each pass, as far as the function around it tells: no item but of a
    constant key, and no local name but one that is set once, to what stays.
    """
    root: Any = node
    while isinstance(root, ast.Attribute) or (isinstance(root, ast.Subscript) and isinstance(root.slice, ast.Constant)):
        root = root.value
    if not isinstance(root, ast.Name):
        return isinstance(root, ast.Call) and getattr(root.func, "id", "") == "super"
    inner = [each for each in ast.walk(definition) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
    stored = [each for each in inner if each.id == root.id]
    if not stored:
        return root.id not in _parameters(definition)[1:]
    own = [each for each in ast.walk(definition) if isinstance(each, ast.Assign) and each.targets[0] is stored[0]]
    return len(stored) == 1 and len(own) == 1 and stays(own[0].value, definition)


def _parameters(definition: Definition) -> list[str]:
    args = definition.args
    return [each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)]


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


def homes_of(kind: type, code: CodeType) -> list[Home]:
    """The homes of a code in the class that has it; several, where a function made the methods."""
    for holder in kind.__mro__:
        paths = [(name, _path_to(value, code)) for name, value in vars(holder).items()]
        if homes := [Home(holder, name, path) for name, path in paths if path is not None]:
            return homes
    return []


def home_of_value(value: Any, code: CodeType) -> Home | None:
    """The home of the function that a value calls, if that has this code."""
    if not isinstance(getattr(value, "__self__", None), (nn.Module, NoneType)):  # a method of a class, or of an object
        return None
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
        path = _path_to(contents_of(cell), code, depth - 1)
        if path is not None:
            return (index, *path)
    return None


def contents_of(cell: CellType) -> Any:
    """What a cell of a function holds, or None."""
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
