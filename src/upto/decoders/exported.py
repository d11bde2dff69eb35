"""Check the content of an exported program before torch loads it.

Torch evaluates the size expressions of a program, writes its names into Python code that it runs,
and looks up any function named in a step. Each is therefore checked against a fixed list.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

_OPERATORS = re.compile(
    r"torch\.ops\.(aten|prims)\.(?!from_file\b)\w+\.\w+"
    r"|torch\.ops\.higher_order\.(cond|wrap_with_set_grad_enabled|wrap_with_autocast)"
    r"|_operator\.(eq|ne|le|ge|lt|gt|neg|pos|mul|add|sub|floordiv|truediv|mod|pow|and_|or_"
    r"|lshift|rshift|getitem)"
    r"|math\.(trunc|ceil|floor)"
    r"|torch\.sym_(not|int|float|ite|max|min|sqrt|sum)"
)
"""Steps that only compute: their arguments and results are tensors and numbers."""
_NAME = re.compile(r"[\w.]*")
_FREE = frozenset({"metadata", "as_string", "as_strings", "torch_version", "guards_code"})
"""Entries that are never evaluated; guards are not used."""
_SPECS = frozenset({"in_spec", "out_spec"})
_SPEC = re.compile(r'[\w\s.,:/"\\\[\]{}-]*')
_CONTAINERS = frozenset(
    {None, "builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict"}
)
_FUNCTIONS = re.compile(
    r"Symbol|Integer|Float|Rational|Half|One|Zero|NegativeOne|Add|Mul|Pow|Max|Min|Mod"
    r"|PythonMod|FloorDiv|CeilDiv|CleanDiv|IntTrueDiv|FloatTrueDiv|FloatPow|PowByNatural"
    r"|ModularIndexing|LShift|RShift|Where|Identity|CeilToInt|FloorToInt|TruncToInt"
    r"|TruncToFloat|RoundToInt|RoundDecimal|ToFloat|IsNonOverlappingAndDenseIndicator|Abs"
    r"|ceiling|floor|Eq|Ne|Le|Ge|Lt|Gt|Equality|Unequality|LessThan|GreaterThan"
    r"|StrictLessThan|StrictGreaterThan|And|Or|Not|Piecewise|ExprCondPair|Tuple"
)
_NODES = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.operator,
    ast.unaryop,
    ast.Name,
    ast.Load,
    ast.Call,
    ast.keyword,
    ast.Constant,
)
_WORD = re.compile(r"[A-Za-z]\w*|[-+]?[\d.]+(e[-+]?\d+)?")
_LONGEST = 10_000


def is_computation(content: bytes) -> bool:
    """Return whether a program (``models/*.json``) contains only steps on tensors.

    Parameters
    ----------
    content
        Entry of the archive; one that is not JSON is not a program.
    """
    try:
        program = json.loads(content)
        return isinstance(program, dict) and "graph_module" in program and _is_harmless(program)
    except (ValueError, RecursionError, KeyError, TypeError):
        return False


def is_size(text: str) -> bool:
    """Return whether a size expression has only symbols, numbers and known functions.

    Parameters
    ----------
    text
        Expression as printed by sympy.
    """
    if len(text) > _LONGEST:
        return False
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(_is_allowed(node) for node in nodes)


def _is_allowed(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and _is_function(node.func.id)
    if isinstance(node, ast.Name):
        return _is_function(node.id) or re.fullmatch(r"[a-z]+\d+|int_oo|oo", node.id) is not None
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            # Sympy also evaluates some strings.
            return _WORD.fullmatch(node.value) is not None
        return isinstance(node.value, int | float)
    return isinstance(node, _NODES)


def _is_function(name: str) -> bool:
    return _FUNCTIONS.fullmatch(name) is not None


def _is_harmless(found: Any, key: str = "") -> bool:
    """Check one entry of a program according to its key."""
    if key in _FREE:
        return True
    if isinstance(found, dict):
        if "target" in found and not _OPERATORS.fullmatch(str(found["target"])):
            return False
        return all(
            (_NAME.fullmatch(name) or is_size(name)) and _is_harmless(each, name)
            for name, each in found.items()
        )
    if isinstance(found, list):
        return all(_is_harmless(each, key) for each in found)
    if isinstance(found, str):
        if key == "expr_str":
            return is_size(found)
        return _is_spec(found) if key in _SPECS else _NAME.fullmatch(found) is not None
    return True


def _is_spec(text: str) -> bool:
    """Return whether a structure of inputs or outputs has only plain containers."""
    if not text:
        return True
    if not _SPEC.fullmatch(text) or "__" in text:
        return False
    waiting = [json.loads(text)[1]]
    while waiting:
        each = waiting.pop()
        if each["type"] not in _CONTAINERS:
            return False
        waiting += each["children_spec"]
    return True
