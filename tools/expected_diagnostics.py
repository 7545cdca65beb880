"""`--verify-diagnostics`: errors are compared with comments in the input, as MLIR does.

```mlir
// expected-error {{a part of the message}}     an error on this line
// expected-error@+1 {{...}}                    on the next line; @-2: two lines above
// expected-error@above {{...}}                 on the nearest line above that has no directive; also @below
// expected-error@unknown {{...}}               an error without a line
// expected-error-re {{with {{regular expressions}} in it}}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..support.diagnostics import TileError, TileErrors

_DIRECTIVE = re.compile(
    r"expected-(?P<kind>error|warning|note|remark)(?P<regex>-re)?"
    r"[ \t]*(?:@(?P<where>[+-][0-9]{1,9}|above|below|unknown))?"
    r"[ \t]*\{\{(?P<text>.*)\}\}[ \t\r]*$"
)
_MALFORMED = re.compile(r"//.*\bexpected-(?:error|warning|note|remark)\b")
_NESTED_REGEX = re.compile(r"\{\{(.*?)\}\}")


@dataclass
class _Expectation:
    kind: str
    text: str
    pattern: re.Pattern[str]
    written_at: tuple[int, int]
    """Line and column of the directive."""
    line: int | None
    """The line on which the error must be; None: an error without a line."""
    met: bool = False

    def accepts(self, error: TileError, line: int | None) -> bool:
        message = f"{error.what}; {error.remedy}" if error.remedy else error.what
        return self.kind == "error" and self.line == line and self.pattern.search(message) is not None


@dataclass
class ExpectedDiagnostics:
    """The directives of one chunk, and the errors that none of them expects."""

    name: str
    expectations: list[_Expectation]
    problems: list[TileError]

    @staticmethod
    def read(name: str, text: str) -> ExpectedDiagnostics:
        """Finds the directives in ``text``; ``name`` is the file's."""
        result = ExpectedDiagnostics(name, [], [])
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            match = _DIRECTIVE.search(line)
            if match is None:
                if (malformed := _MALFORMED.search(line)) is not None:
                    where = f"{name}:{number}:{malformed.start() + 1}"
                    raise TileError(where, "malformed directive", "write '// expected-error@+1 {{message}}'")
                continue
            position = (number, match.start() + 1)
            target = _target_line(match["where"], number, lines)
            try:
                pattern = _pattern(match["text"], match["regex"] is not None)
            except re.error as error:
                where = f"{name}:{number}:{position[1]}"
                raise TileError(where, f"invalid regular expression: {error}", "correct it") from None
            result.expectations.append(_Expectation(match["kind"], match["text"], pattern, position, target))
        return result

    def match(self, error: TileError) -> None:
        """Takes an error that happened, or several, off the list of what is expected."""
        for one in _flat(error):
            line = getattr(one, "line", None)
            for expectation in self.expectations:
                if not expectation.met and expectation.accepts(one, line):
                    expectation.met = True
                    break
            else:
                self.problems.append(TileError(one.where, f"unexpected error: {one.what}", one.remedy))

    def finish(self) -> None:
        """Raises TileErrors for what was expected and did not come, and for what came unexpected."""
        for expectation in self.expectations:
            if not expectation.met:
                line, column = expectation.written_at
                what = f"expected {expectation.kind} '{expectation.text}' was not produced"
                self.problems.append(TileError(f"{self.name}:{line}:{column}", what))
        if self.problems:
            raise TileErrors(self.problems)


def _flat(error: TileError) -> Iterator[TileError]:
    if isinstance(error, TileErrors):
        for inner in error.errors:
            yield from _flat(inner)
    else:
        yield error


def _target_line(where: str | None, number: int, lines: list[str]) -> int | None:
    match where:
        case None:
            return number
        case "unknown":
            return None
        case "above" | "below":
            step = -1 if where == "above" else 1
            target = number + step
            while 0 < target <= len(lines) and _DIRECTIVE.search(lines[target - 1]):
                target += step
            return target
        case offset:
            return number + int(offset)


def _pattern(text: str, has_regexes: bool) -> re.Pattern[str]:
    if not has_regexes:
        return re.compile(re.escape(text))
    # Text and regular expressions alternate.
    parts = _NESTED_REGEX.split(text)
    return re.compile("".join(f"(?:{part})" if index % 2 else re.escape(part) for index, part in enumerate(parts)))
