"""Translates a kernel, one or several modules in a small subset of Python, to the text of an LLVM module.

The subset consists of: functions of whole numbers; assignments, also of several values at once and to columns;
``if``, ``while``, ``for`` over a ``range``, ``break``, ``continue``, ``return``; arithmetic, comparisons, ``and``,
``or``, ``not``, conditional expressions, ``in`` a tuple, ``min``, ``max``; calls of other such functions. Names in
capitals are constants. Anything else is an AssertionError, since only the compiler's own text is translated.

``facts``, ``code`` and ``state`` are not passed as such: all their fields are columns, and each function gets one
pointer to the pointers to all columns. A fact is a column of one number. The end of a column's name says what it holds:
``_pj`` doubles, ``_u8`` bytes, ``_i32`` 32-bit integers, and otherwise 64-bit integers, which all variables are, too. A
column of 64-bit integers can also be passed by itself, to a parameter that is annotated as a ``Column``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}
_REAL_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "fadd", ast.Sub: "fsub"}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "slt",
    ast.LtE: "sle",
    ast.Gt: "sgt",
    ast.GtE: "sge",
}
_ELEMENTS = {"_pj": "double", "_u8": "i8", "_i32": "i32"}
_WIDENING = {"i8": "zext", "i32": "sext"}
_OWNERS = ("facts", "code", "state")
_COLUMN = "Column"

_DIVISIONS = """
; Rounds down, as Python does.
define internal i64 @floor_quotient(i64 %a, i64 %b) alwaysinline {
  %q = sdiv i64 %a, %b
  %r = srem i64 %a, %b
  %mixed = xor i64 %r, %b
  %signs = icmp slt i64 %mixed, 0
  %rest = icmp ne i64 %r, 0
  %down = and i1 %signs, %rest
  %less = zext i1 %down to i64
  %result = sub i64 %q, %less
  ret i64 %result
}

define internal i64 @floor_remainder(i64 %a, i64 %b) alwaysinline {
  %r = srem i64 %a, %b
  %mixed = xor i64 %r, %b
  %signs = icmp slt i64 %mixed, 0
  %rest = icmp ne i64 %r, 0
  %down = and i1 %signs, %rest
  %more = add i64 %r, %b
  %result = select i1 %down, i64 %more, i64 %r
  ret i64 %result
}

declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
"""


def llvm_module(
    functions: Sequence[ast.FunctionDef], constants: Mapping[str, int], columns: Sequence[str], exported: str
) -> str:
    """The module's text. ``columns`` are ``owner.name``, in the order of the pointers; ``exported`` is the function
    that is called from outside, as ``i64 (ptr columns, i64 ...)``."""
    places = {column: place for place, column in enumerate(columns)}
    names = {function.name for function in functions}
    texts = [_Function(function, constants, places, names).text(function.name == exported) for function in functions]
    return "\n".join([_DIVISIONS, *texts, "!0 = !{}", ""])


class _Function:
    """The translation of one function. A variable is a place on the stack; LLVM makes registers of them."""

    def __init__(
        self, node: ast.FunctionDef, constants: Mapping[str, int], places: Mapping[str, int], functions: set[str]
    ) -> None:
        self.node = node
        self.constants = constants
        self.places = places
        self.functions = functions
        self.given = {arg.arg for arg in node.args.args if arg.annotation and ast.unparse(arg.annotation) == _COLUMN}
        """Parameters that are columns."""
        self.parameters = [arg for arg in _passed(node) if arg not in self.given]
        self.variables: dict[str, None] = dict.fromkeys(self.parameters)
        self.lines: list[str] = []
        self.count = 0
        self.loops: list[tuple[str, str]] = []
        """Where ``continue`` and ``break`` go."""
        self.ended = False
        """Whether the current block has its terminator."""

    def text(self, exported: bool) -> str:
        self.block(self.node.body)
        if not self.ended:
            self.lines.append("  ret i64 0")
        passed = [f"ptr %{arg}" if arg in self.given else f"i64 %arg.{arg}" for arg in _passed(self.node)]
        arguments = ", ".join(["ptr %columns", *passed])
        linkage = "" if exported else "internal "
        return "\n".join(
            [
                f"define {linkage}i64 @{self.node.name}({arguments}) {{",
                *(f"  %{name} = alloca i64" for name in self.variables),
                *(f"  store i64 %arg.{name}, ptr %{name}" for name in self.parameters),
                *self.lines,
                "}",
                "",
            ]
        )

    # Lines

    def emit(self, operation: str) -> str:
        """A line with a result; its name."""
        self.count += 1
        self.lines.append(f"  %.{self.count} = {operation}")
        return f"%.{self.count}"

    def label(self, name: str) -> str:
        self.count += 1
        return f"{name}.{self.count}"

    def begin(self, label: str) -> None:
        """A block begins; the one before runs into it."""
        if not self.ended:
            self.lines.append(f"  br label %{label}")
        self.lines.append(f"{label}:")
        self.ended = False

    def jump(self, operation: str) -> None:
        if not self.ended:
            self.lines.append(f"  {operation}")
        self.ended = True

    # Statements

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                found = [self.number(value) for value in values]
                for target, value in zip(targets, found, strict=True):
                    self.assign(target, value)
            case ast.Assign(targets=[target], value=value):
                self.assign(target, self.number(value))
            case ast.AugAssign(target=target, op=operator, value=value):
                self.update(target, operator, value)
            case ast.If():
                self.branch(node)
            case ast.While(test=test, body=body, orelse=[]):
                self.loop(test, body)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=args), body=body):
                self.count_up(name, args, body)
            case ast.Return(value=value):
                self.jump(f"ret i64 {'0' if value is None else self.number(value)}")
            case ast.Break():
                self.jump(f"br label %{self.loops[-1][1]}")
            case ast.Continue():
                self.jump(f"br label %{self.loops[-1][0]}")
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=value):
                self.number(value)
            case _:
                raise AssertionError(f"{self.node.name}: cannot translate {ast.unparse(node)}")

    def assign(self, target: ast.expr, value: str) -> None:
        if isinstance(target, ast.Name):
            self.variables[target.id] = None
            self.lines.append(f"  store i64 {value}, ptr %{target.id}")
        else:
            self.store(value, *self.element(target))

    def store(self, value: str, pointer: str, kind: str) -> None:
        """Of a number that does not fit, the low bits."""
        if kind in _WIDENING:
            value = self.emit(f"trunc i64 {value} to {kind}")
        self.lines.append(f"  store {kind} {value}, ptr {pointer}")

    def load(self, pointer: str, kind: str) -> str:
        """A number."""
        assert kind != "double"
        found = self.emit(f"load {kind}, ptr {pointer}")
        return self.emit(f"{_WIDENING[kind]} {kind} {found} to i64") if kind in _WIDENING else found

    def update(self, target: ast.expr, operator: ast.operator, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.assign(target, self.binary(operator, self.number(target), self.number(value)))
            return
        pointer, kind = self.element(target)
        if kind == "double":
            old = self.emit(f"load double, ptr {pointer}")
            other, _ = self.element(value)
            change = self.emit(f"load double, ptr {other}")
            new = self.emit(f"{_REAL_OPERATORS[type(operator)]} double {old}, {change}")
        else:
            new = self.binary(operator, self.load(pointer, kind), self.number(value))
        self.store(new, pointer, kind)

    def branch(self, node: ast.If) -> None:
        then, otherwise, end = self.label("then"), self.label("else"), self.label("end")
        self.test(node.test, then, otherwise if node.orelse else end)
        self.begin(then)
        self.block(node.body)
        self.jump(f"br label %{end}")
        if node.orelse:
            self.begin(otherwise)
            self.block(node.orelse)
            self.jump(f"br label %{end}")
        self.begin(end)

    def loop(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        head, inside, end = self.label("while"), self.label("do"), self.label("end")
        self.begin(head)
        self.test(test, inside, end)
        self.begin(inside)
        self.loops.append((head, end))
        self.block(body)
        self.loops.pop()
        self.jump(f"br label %{head}")
        self.begin(end)

    def count_up(self, name: str, arguments: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        """Over a range of one argument, or of two. As in Python, the body may assign to the name without effect on the
        count."""
        *begin, limit = arguments
        assert len(begin) <= 1, "a range with a step"
        counter, bound = f"count.{self.label(name)}", f"bound.{self.label(name)}"
        self.variables |= {name: None, counter: None, bound: None}
        self.lines.append(f"  store i64 {self.number(begin[0]) if begin else 0}, ptr %{counter}")
        self.lines.append(f"  store i64 {self.number(limit)}, ptr %{bound}")
        head, inside, step, end = (self.label(part) for part in ("for", "do", "step", "end"))
        self.begin(head)
        now, most = self.emit(f"load i64, ptr %{counter}"), self.emit(f"load i64, ptr %{bound}")
        self.jump(f"br i1 {self.emit(f'icmp slt i64 {now}, {most}')}, label %{inside}, label %{end}")
        self.begin(inside)
        self.lines.append(f"  store i64 {now}, ptr %{name}")
        self.loops.append((step, end))
        self.block(body)
        self.loops.pop()
        self.begin(step)
        counted = self.emit(f"load i64, ptr %{counter}")
        self.lines.append(f"  store i64 {self.emit(f'add i64 {counted}, 1')}, ptr %{counter}")
        self.jump(f"br label %{head}")
        self.begin(end)

    # Conditions

    def test(self, node: ast.expr, then: str, otherwise: str) -> None:
        """Goes to one of two blocks; ``and`` and ``or`` evaluate no more than they must."""
        match node:
            case ast.BoolOp(op=operator, values=values):
                for value in values[:-1]:
                    following = self.label("and" if isinstance(operator, ast.And) else "or")
                    if isinstance(operator, ast.And):
                        self.test(value, following, otherwise)
                    else:
                        self.test(value, then, following)
                    self.begin(following)
                self.test(values[-1], then, otherwise)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.test(operand, otherwise, then)
            case ast.Compare(left=left, ops=[ast.In()], comparators=[ast.Tuple(elts=choices)]):
                alike = [ast.Compare(left, [ast.Eq()], [choice]) for choice in choices]
                self.test(ast.BoolOp(ast.Or(), list(alike)), then, otherwise)
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                a, b = self.number(left), self.number(right)
                holds = self.emit(f"icmp {_COMPARISONS[type(operator)]} i64 {a}, {b}")
                self.jump(f"br i1 {holds}, label %{then}, label %{otherwise}")
            case _:
                holds = self.emit(f"icmp ne i64 {self.number(node)}, 0")
                self.jump(f"br i1 {holds}, label %{then}, label %{otherwise}")

    def choice(self, test: ast.expr, then: ast.expr, otherwise: ast.expr) -> str:
        """A number that depends on a condition."""
        result = self.label("choice")
        self.variables[result] = None
        yes, no, end = self.label("then"), self.label("else"), self.label("end")
        self.test(test, yes, no)
        for label, value in ((yes, then), (no, otherwise)):
            self.begin(label)
            self.lines.append(f"  store i64 {self.number(value)}, ptr %{result}")
            self.jump(f"br label %{end}")
        self.begin(end)
        return self.emit(f"load i64, ptr %{result}")

    # Numbers

    def number(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=value):
                assert isinstance(value, int)
                return str(int(value))
            case ast.Name(id=name):
                constant = self.constants.get(name)
                return self.emit(f"load i64, ptr %{name}") if constant is None else str(constant)
            case ast.BinOp(left=left, op=operator, right=right):
                return self.binary(operator, self.number(left), self.number(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.emit(f"sub i64 0, {self.number(operand)}")
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return self.choice(test, then, otherwise)
            case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return self.choice(node, ast.Constant(1), ast.Constant(0))
            case ast.Call(func=ast.Name(id=name), args=args):
                return self.call(name, args)
            case _:
                return self.load(*self.element(node))

    def binary(self, operator: ast.operator, a: str, b: str) -> str:
        match operator:
            case ast.FloorDiv():
                return self.emit(f"call i64 @floor_quotient(i64 {a}, i64 {b})")
            case ast.Mod():
                return self.emit(f"call i64 @floor_remainder(i64 {a}, i64 {b})")
            case _:
                return self.emit(f"{_OPERATORS[type(operator)]} i64 {a}, {b}")

    def call(self, name: str, arguments: Sequence[ast.expr]) -> str:
        if name in ("min", "max"):
            a, b = (self.number(argument) for argument in arguments)
            return self.emit(f"call i64 @llvm.s{name}.i64(i64 {a}, i64 {b})")
        assert name in self.functions, name
        passed = [argument for argument in arguments if not (isinstance(argument, ast.Name) and argument.id in _OWNERS)]
        return self.emit(f"call i64 @{name}({', '.join(['ptr %columns', *map(self.argument, passed)])})")

    def argument(self, node: ast.expr) -> str:
        """A number or a whole column, with its type."""
        match node:
            case ast.Attribute(value=ast.Name(id="code" | "state" as owner), attr=name):
                return f"ptr {self.column(owner, name)}"
            case ast.Name(id=name) if name in self.given:
                return f"ptr %{name}"
            case _:
                return f"i64 {self.number(node)}"

    def element(self, node: ast.expr) -> tuple[str, str]:
        """A pointer to an element of a column, or to a fact, and the element's type."""
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in self.given:
                return self.emit(f"getelementptr i64, ptr %{name}, i64 {self.number(index)}"), "i64"
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=owner), attr=name), slice=index):
                place = self.number(index)
            case ast.Attribute(value=ast.Name(id="facts" as owner), attr=name):
                place = "0"
            case _:
                raise AssertionError(f"{self.node.name}: cannot translate {ast.unparse(node)}")
        kind = next((kind for end, kind in _ELEMENTS.items() if name.endswith(end)), "i64")
        return self.emit(f"getelementptr {kind}, ptr {self.column(owner, name)}, i64 {place}"), kind

    def column(self, owner: str, name: str) -> str:
        """A pointer to a column."""
        entry = self.emit(f"getelementptr ptr, ptr %columns, i64 {self.places[f'{owner}.{name}']}")
        return self.emit(f"load ptr, ptr {entry}, !invariant.load !0")


def _passed(node: ast.FunctionDef) -> list[str]:
    """The parameters for which something is passed."""
    return [arg.arg for arg in node.args.args if arg.arg not in _OWNERS]
