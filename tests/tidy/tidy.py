#!/usr/bin/env python3
"""The house rules as a test: prints file:line: rule: what, and fails if there is any; and how
large the house and how plain its language is.

usage: tidy.py [ROOT]
"""
import pathlib
import sys

import base_calls
import figures
import language
import layers
import mirrors
import shape
import words
from source import read_tree

RULES = (layers.RULES + base_calls.RULES + figures.RULES + language.RULES + shape.RULES +
         words.RULES + mirrors.RULES)


def violations(sources, rules=RULES):
    """Sorted (path, line, rule, what)."""
    found = []
    for rule in rules:
        found += [(path, line, rule.__name__, what) for path, line, what in rule(sources)]
    return sorted(found)


def main():
    here = pathlib.Path(__file__).resolve().parents[2]
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else here
    sources = read_tree(root)
    if not any(s.is_cpp for s in sources):
        sys.exit(f"tidy: {root} holds no source of the house")
    found = violations(sources)
    if mirrors.clang_format():
        found += [(*where, "layout", what) for *where, what in mirrors.layout(sources, root)]
    else:
        print("SKIP layout: clang-format 14 is not installed (Debian: clang-format-14)")
    for path, line, rule, what in sorted(found):
        print(f"{path}:{line}: {rule}: {what}")
    for line in (*figures.table(sources), *language.table(sources),
                 f"pairs of texts: known to {len(words.files_of_pairs(sources))} other files"):
        print(line)
    print(f"tidy: {len(sources)} files, {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
