"""Which headers of include/zero/base a source must reach: a joined build hides what is missing."""
import functools
import re

from source import PRODUCT, room_of

READERS = PRODUCT + ("tests", "perf")

BASE = "include/zero/base/"
# What declares a function: its type, its name and "(". Code calls one behind other words.
DECLARATION = r"(?<![\w.])(?!return |else |throw |new |case )[\w:]+(?:<[^;{}()]*>)?[\s*&]+(\w+)\("
FREE = re.compile(r"^(?=[\w\[])(?:[\w\[\]]+ )*" + DECLARATION, re.M)
MACRO = re.compile(r"^#define (\w+)\(", re.M)
TYPE = re.compile(r"^(?:class|struct|enum class|using) (?:\w+\([^()]*\) )?([A-Z]\w+)", re.M)
# A call, or a type, whose name begins with a capital.
USE = re.compile(r"(?<![\w.:>~])(?:zero::)?(\w+(?=\()|[A-Z]\w*[a-z]\w*)")


def declared(header):
    """Names of the free functions, types and macros that a header has at the left of its lines."""
    names = FREE.findall(header.code) + TYPE.findall(header.code)
    return set(names) | set(MACRO.findall(header.text))


def homes(sources):
    """{name: the headers of the base that declare it}."""
    found = {}
    for source in sources:
        if source.path.startswith(BASE) and source.suffix == ".hpp":
            for name in declared(source) - {"operator"}:
                found.setdefault(name, set()).add(source.path)
    return found


def path_of(file):
    return "include/" + file if file.startswith("zero/") else file


def reached(source, by_path):
    """Every file of the house that the source brings along, itself among them."""
    seen, waiting = set(), [source.path]
    while waiting:
        path = waiting.pop()
        if path in seen or path not in by_path:
            continue
        seen.add(path)
        waiting += [path_of(file) for _, _, file in by_path[path].includes()]
    return seen


@functools.cache
def names_of(source):
    """(functions and types at the left of its lines, those and members) that a file declares."""
    types = set(re.findall(TYPE.pattern.replace("^", r"^\s*"), source.code, re.M))
    return set(FREE.findall(source.code)) | types, set(re.findall(DECLARATION, source.code)) | types


def others(source, paths, by_path):
    """Names outside of the base that a source may mean: types and free functions that it brings
    along, and its own members, be they declared there or in what it includes of its room."""
    names = set()
    own = {source.path} | {path_of(file) for _, _, file in source.includes()}
    for path in paths:
        if not path.startswith(BASE):
            is_own = path in own and room_of(path) == room_of(source.path)
            names |= names_of(by_path[path])[is_own]
    return names


def base_is_included(sources):
    """A .cpp that uses a function or a type of the base brings along a header that declares it. A
    name that something else of the house has too, as far as it is brought along, may mean that."""
    by_path = {s.path: s for s in sources if s.is_cpp}
    homes_of = homes(sources)
    for source in by_path.values():
        if source.suffix != ".cpp" or source.top not in READERS:
            continue
        paths = reached(source, by_path)
        told = others(source, paths, by_path)
        for use in USE.finditer(source.code):
            name = use[1]
            if name in told or homes_of.get(name, paths) & paths:
                continue
            told.add(name)
            header = min(homes_of[name])[len("include/"):]
            line = source.code.count("\n", 0, use.start(1)) + 1
            yield source.path, line, f"uses {name}, but nothing includes \"{header}\""


RULES = (base_is_included,)
