#!/usr/bin/env python3
"""Writes io/text/unicode_classes.cpp: which code points GPT-2's pattern takes for letters (\\p{L}),
numbers (\\p{N}) and blanks (\\s).

usage: unicode_classes.py [OUT]

`tokenizers` itself is asked, one code point after the other, and not Python's unicodedata or a
regular expression library of the machine: those know another Unicode, and a letter that one of them
does not know is cut into other tokens. Version 0.23.3 knows Unicode 16.0.
"""
import pathlib
import sys

import bpe_package

CODE_POINTS, SURROGATES = 0x110000, range(0xD800, 0xE000)
OTHER, BORDERS_A_LINE = 0, 9
# A character and the class whose run it begins: what follows in the same piece is of that class.
PROBES = ((1, "a"), (2, "1"), (3, "\n"), (OTHER, "!"))
HEAD = """\
// Made by tools/data/unicode_classes.py, from the package tokenizers {version}.

#include "io/text/unicode_classes.hpp"

namespace zero {{

const std::array<uint32_t, kClassBorders> kClassTable = {{
"""


def class_of(split, code_point):
    if code_point in SURROGATES:
        return OTHER
    character = chr(code_point)
    return next(number for number, probe in PROBES if len(split(probe + character)) == 1)


def borders(split):
    """code point * 4 + class, wherever another class begins."""
    found, last = [], None
    for code_point in range(CODE_POINTS):
        number = class_of(split, code_point)
        if number != last:
            found.append(code_point << 2 | number)
            last = number
    return found


def source(table):
    lines = [", ".join(f"0x{entry:06X}" for entry in table[first:first + BORDERS_A_LINE])
             for first in range(0, len(table), BORDERS_A_LINE)]
    return (HEAD.format(version=bpe_package.VERSION) + "    " + ",\n    ".join(lines)
            + "};\n\n}  // namespace zero\n")


def main():
    tree = pathlib.Path(__file__).resolve().parents[2]
    default = tree / "io" / "data" / "unicode_classes.cpp"
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    rule = bpe_package.tokenizers().pre_tokenizers.ByteLevel(add_prefix_space=False)
    table = borders(rule.pre_tokenize_str)
    out.write_text(source(table))
    print(f"{out}: kClassBorders = {len(table)}")


if __name__ == "__main__":
    main()
