#!/usr/bin/env python3
"""Prints which sources may be compiled as one, a line "GROUP SOURCE" each: no file of a group
mentions a name that is local to another, nor includes a header with such a name that the other does
not include, so that each of them means what it means alone. Local is what stands at column 0 of an
anonymous namespace, a macro, and what a using declaration brings in. Nor does one name a namespace
without a header that opens it, as testing::Not does GoogleTest's, where another has zero::testing.
usage: unity_groups.py MOST_FILES SOURCE..."""
import functools
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# What the compiler does not look up; the comment at a namespace's end says where it ends.
TEXT = re.compile(r"""R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'"""
                  r"|/\*.*?\*/|//(?! namespace)[^\n]*", re.S)
# A member's name is looked up in its class, and one of std there: neither is a mention.
WORD = re.compile(r"(?<!\.)(?<!->)(?<!std::)\b[A-Za-z_]\w*")
BARE_WORD = re.compile(r"(?<![.:])(?<!->)\b[A-Za-z_]\w*")
BEFORE_NAME = re.compile(r"^(?:\[\[\w+\]\] |template <.*> |static |inline |constexpr |const "
                         r"|alignas\(.*?\) )+")
ALIAS = re.compile(r"(?:using|namespace) (\w+) =|using [\w:]*::(\w+);")
TYPE = re.compile(r"(?:struct|class|enum(?: class)?|union) (?:alignas\(.*?\) )?(\w+)")
VARIABLE = re.compile(r"(?:^[^={(]*?\b|, )(\w+)(?:\[[^\]]*\])* ?(?:=|\{|;$)")
FUNCTION = re.compile(r"(?<!::)\b(?![A-Z_]+\(|static_assert)(\w+)\(")


def names_declared(line):
    line = BEFORE_NAME.sub("", line)
    if re.match("using namespace", line):
        return []
    if found := ALIAS.match(line) or TYPE.match(line):
        return [found[1] or found[2]]
    if re.match(r"[^(]*[={;]", line):
        return VARIABLE.findall(line)
    return FUNCTION.findall(line)[:1]


def code_of(path):
    def without(text):
        if text[0].startswith("/"):
            return ""
        return text[0] if text[0].endswith('.hpp"') else '""'

    with open(path, encoding="utf-8") as file:
        return re.sub(r"[ \t]+$", "", TEXT.sub(without, file.read()), flags=re.M)


@functools.cache
def headers_of(path):
    """Our own headers that the file includes, and those that they include."""
    found = set()
    for name in re.findall(r'^#include "(.*)"', code_of(path), re.M):
        for header in (os.path.join(ROOT, "include", name), os.path.join(ROOT, name)):
            if os.path.exists(header):
                found |= {header} | headers_of(header)
    return frozenset(found)


@functools.cache
def names_in(header):
    return {name for line in code_of(header).splitlines() if re.match(r"[A-Za-z\[]", line)
            for name in names_declared(line)}


def aliases_among(lines):
    """What each alias stands for, by its name."""
    found = {ALIAS.match(line): line.replace("using ::", "using ") for line in lines}
    return {alias[1] or alias[2]: line for alias, line in found.items() if alias}


@functools.cache
def aliases_in(header):
    return aliases_among(code_of(header).splitlines())


@functools.cache
def namespaces_in(header):
    """The whole names of namespaces, "zero::graph::testing"."""
    found, inside = set(), []
    for line in code_of(header).splitlines():
        if opened := re.match(r"namespace ([\w:]+) \{", line):
            inside.append(opened[1])
            found.add("::".join(inside))
        elif inside and re.match(r"\} *// namespace", line):
            inside.pop()
    return frozenset(found) - {"zero"}


class Source:
    def __init__(self, path):
        self.path = path
        code = code_of(path)
        self.local = {}  # name: the line that declares it
        self.opened = set(re.findall(r"^using namespace (?!std::\w*literals;)[^;]*;", code, re.M))
        anonymous = False
        for line in code.splitlines():
            if re.match(r"namespace \{", line):
                anonymous = True
            elif re.match(r"\} *// namespace$", line):
                anonymous = False
            elif found := re.match(r"#define (\w+)", line):
                self.local[found[1]] = line
            elif re.match(r"[A-Za-z\[]", line) and (anonymous or re.match("static|using", line)):
                self.local.update((name, line) for name in names_declared(line))
        code = re.sub(r"//[^\n]*|#include[^\n]*", "", code)
        self.headers = headers_of(path)
        self.namespaces = set().union(*map(namespaces_in, self.headers))
        self.aliases = aliases_among(self.local.values())
        for header in self.headers:
            self.aliases = aliases_in(header) | self.aliases
        self.named_namespaces = set(re.findall(r"(?<![:\w])(\w+)::", code))
        self.words, self.bare_words = set(WORD.findall(code)), set(BARE_WORD.findall(code))

    def may_see(self, other):
        """The same alias may stand in both, in a header of either too, and does nothing to a name
        with its namespace. The same namespace may be opened in both, and one of std's literals in
        either, as no name is looked up there."""
        if not other.opened <= self.opened:
            return False
        for namespace in self.namespaces - other.namespaces:
            if namespace.rsplit("::", 1)[-1] in other.named_namespaces:
                return False
        brought = set().union(*(names_in(header) for header in self.headers - other.headers))
        for name, line in other.local.items():
            alias = ALIAS.match(line)
            if alias and self.aliases.get(name) == other.aliases[name]:
                continue
            if name in brought or name in (self.bare_words if alias else self.words):
                return False
        return True


def groups(sources, most):
    """Each file goes into the first group that takes it. Files that go with few others choose
    first."""
    apart = {source: {other for other in sources if other is not source
                      and not (source.may_see(other) and other.may_see(source))}
             for source in sources}
    made = []
    for source in sorted(sources, key=lambda one: -len(apart[one])):
        for group in made:
            if len(group) < most and apart[source].isdisjoint(group):
                group.append(source)
                break
        else:
            made.append([source])
    return made


if __name__ == "__main__":
    made = groups([Source(path) for path in sys.argv[2:]], int(sys.argv[1]))
    for number, group in enumerate(made):
        for source in group:
            print(number, source.path)
