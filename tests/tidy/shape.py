"""Sizes: lines, functions, files, room guides; preprocessor conditions."""
import re

from source import PRODUCT, room_of

FILE_LINES, FUNCTION_LINES, COLUMNS, NESTING = 400, 60, 100, 3
GUIDE_LINES, CONDITIONS = 40, 12
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b")


def file_lengths(sources):
    for source in sources:
        if (source.is_cpp or source.is_script) and len(source.lines) > FILE_LINES:
            yield source.path, FILE_LINES + 1, f"{len(source.lines)} lines, at most {FILE_LINES}"


def line_lengths(sources):
    for source in sources:
        for number, line in enumerate(source.lines, 1):
            if (source.is_cpp or source.is_script) and len(line) > COLUMNS:
                yield source.path, number, f"{len(line)} columns, at most {COLUMNS}"


def function_shapes(sources):
    for source in sources:
        for function in source.functions():
            if function.length() > FUNCTION_LINES:
                what = f"{function.length()} lines, at most {FUNCTION_LINES}"
                yield source.path, function.first, f"function {function.name} has {what}"
            if function.nesting > NESTING:
                what = f"{function.nesting} blocks deep, at most {NESTING}"
                yield source.path, function.first, f"function {function.name} is {what}"


def guides(sources):
    """A room with sources has a README.md, a map of at most a screen; stories are pages of doc/."""
    lengths = {s.path: len(s.lines) for s in sources if s.name == "README.md" and "/" in s.path}
    for path, length in lengths.items():
        if length > GUIDE_LINES:
            yield path, GUIDE_LINES + 1, f"{length} lines, at most {GUIDE_LINES}"
    rooms = {room_of(s.path) for s in sources if s.suffix == ".cpp" and s.top in PRODUCT}
    for room in sorted(rooms - {"main", None}):
        path = f"{room}/README.md" if room in ("kernels", "io") else f"src/{room}/README.md"
        if path not in lengths:
            yield path, 1, f"room {room} has no README.md"


def guide_columns(sources):
    """No guide or page asks for a wider screen; rows of tables and what is fenced cannot break."""
    for source in sources:
        is_page = source.top == "doc" and source.suffix == ".md"
        is_guide = source.name == "README.md"
        fenced = False
        for number, line in enumerate(source.lines if is_page or is_guide else (), 1):
            fenced ^= line.startswith("```")
            if len(line) > COLUMNS and not fenced and not line.startswith(("|", "    ")):
                yield source.path, number, f"{len(line)} columns, at most {COLUMNS}"


def conditions(sources):
    """Few #if in the tree, none inside a function: a build choice is a pair of twin files."""
    found = []
    for source in sources:
        if not source.is_cpp:
            continue
        inside = source.functions()
        for number, line in enumerate(source.lines, 1):
            if not CONDITION.match(line):
                continue
            found.append((source.path, number))
            if any(f.first <= number <= f.last for f in inside):
                yield source.path, number, "#if inside a function"
    for path, number in found[CONDITIONS:]:
        yield path, number, f"one of {len(found)} #if lines, at most {CONDITIONS} in the tree"


def header_guards(sources):
    for source in sources:
        if source.suffix == ".hpp" and (not source.lines or source.lines[0] != "#pragma once"):
            yield source.path, 1, "the first line is not #pragma once"


RULES = (file_lengths, line_lengths, function_shapes, guides, guide_columns, conditions,
         header_guards)
