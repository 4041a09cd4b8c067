#!/usr/bin/env python3
"""Writes the tables of characters in io/text that tokenizer.json needs beside unicode_classes.cpp:
unicode_ranges.cpp (the numbers of the pre-tokenizer Digits, the word characters of added tokens),
and nfc_classes.cpp, nfc_pairs.cpp and nfc_singles.cpp (composition).

usage: unicode_tables.py [FOLDER]       io/text by default; clang-format then lays them out

`tokenizers` itself is asked, one code point after the other. Its parts know different versions of
Unicode: Digits 17, the pattern's numbers 16, and NFC one that leaves 98 newer marks in their order.
"""
import functools
import pathlib
import sys
import textwrap

import bpe_package

CODE_POINTS = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
HANGUL = range(0xAC00, 0xD7A4)  # composed by a formula
LOW_MARK, HIGH_MARK = "\u0334", "\u0345"  # of the least and the greatest combining class
HEAD = """\
// Made by tools/data/unicode_tables.py, from the package tokenizers {version}.

#include "io/text/{header}"

namespace zero {{

"""


def ranges(points):
    """[first, last] of the runs in an ascending list."""
    found = []
    for point in points:
        if found and found[-1][1] == point - 1:
            found[-1][1] = point
        else:
            found.append([point, point])
    return found


def digits(package):
    rule = package.pre_tokenizers.Digits(individual_digits=True)
    return [point for point in CODE_POINTS
            if len(rule.pre_tokenize_str("a" + chr(point) + "a")) == 3]


def word_characters(package):
    """Characters beside which a token with single_word is none."""
    tokenizer = package.Tokenizer(package.models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.add_tokens([package.AddedToken("<|x|>", single_word=True, normalized=False)])
    token = tokenizer.token_to_id("<|x|>")
    return [point for point in CODE_POINTS
            if token not in tokenizer.encode(chr(point) + "<|x|>").ids]


def combining_classes(package):
    """{code point: rank of its class}. Ranks order marks as the classes do, and begin with 1."""
    nfd = package.normalizers.NFD().normalize_str
    marks = [point for point in CODE_POINTS
             if nfd("a" + HIGH_MARK + chr(point)) != "a" + HIGH_MARK + nfd(chr(point))
             or nfd("a" + chr(point) + LOW_MARK) != "a" + nfd(chr(point)) + LOW_MARK
             or chr(point) in (LOW_MARK, HIGH_MARK)]
    marks = [point for point in marks if nfd(chr(point)) == chr(point)]

    def compare(a, b):
        """Two marks change places where the first has the greater class."""
        if nfd("a" + chr(a) + chr(b)) != "a" + chr(a) + chr(b):
            return 1
        return -1 if nfd("a" + chr(b) + chr(a)) != "a" + chr(b) + chr(a) else 0

    ordered = sorted(marks, key=functools.cmp_to_key(compare))
    classes, rank = {}, 0
    for last, mark in zip([None, *ordered], ordered):
        rank += last is None or compare(last, mark) != 0
        classes[mark] = rank
    return classes


def compositions(package):
    """([(composed, first, second)], [(code point, its decomposition)]) without Hangul. A pair is
    composed again; a decomposition is whole and stays."""
    nfd, nfc = package.normalizers.NFD().normalize_str, package.normalizers.NFC().normalize_str
    pairs, singles = [], []
    for point in CODE_POINTS:
        parts = nfd(chr(point))
        if parts == chr(point) or point in HANGUL:
            continue
        if nfc(parts) == chr(point):
            first = nfc(parts[:-1])
            if len(first) != 1:
                sys.exit(f"unicode_tables.py: U+{point:04X} has no first part")
            pairs.append((point, ord(first), ord(parts[-1])))
        else:
            singles.append((point, *map(ord, parts)))
    return pairs, singles


def table(name, kind, size, rows):
    """The source of an array. Lines are filled to 100 columns."""
    print(f"{size} = {len(rows)}")
    shown = ", ".join("{" + ",~".join(f"0x{value:X}" for value in row) + "}" for row in rows)
    lines = textwrap.wrap(shown, 98, initial_indent="    ", subsequent_indent="    ",
                          break_on_hyphens=False)
    return f"const std::array<{kind}, {size}> {name} = {{{{\n" + "\n".join(lines).replace(
        "~", " ") + "}};\n"


def write(path, header, *tables):
    path.write_text(HEAD.format(version=bpe_package.VERSION, header=header) + "\n".join(tables)
                    + "\n}  // namespace zero\n")
    print(path)


def main():
    tree = pathlib.Path(__file__).resolve().parents[2]
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else tree / "io" / "text"
    package = bpe_package.tokenizers()
    write(out / "unicode_ranges.cpp", "unicode_ranges.hpp",
          table("kDigitRanges", "CodeRange", "kDigitRangeCount", ranges(digits(package))),
          table("kWordRanges", "CodeRange", "kWordRangeCount", ranges(word_characters(package))))
    classes = combining_classes(package)
    runs = []
    for point in sorted(classes):
        if runs and runs[-1][1] == point - 1 and runs[-1][2] == classes[point]:
            runs[-1][1] = point
        else:
            runs.append([point, point, classes[point]])
    write(out / "nfc_classes.cpp", "nfc_tables.hpp",
          table("kMarkRanges", "MarkRange", "kMarkRangeCount", runs))
    pairs, apart = compositions(package)
    singles = [row for row in apart if len(row) == 2]
    longer = [[*row, 0][:4] for row in apart if len(row) > 2]
    write(out / "nfc_pairs.cpp", "nfc_tables.hpp",
          table("kCompositions", "Composition", "kCompositionCount", pairs))
    write(out / "nfc_singles.cpp", "nfc_tables.hpp",
          table("kReplacements", "Replacement", "kReplacementCount", singles),
          table("kDecompositions", "Decomposition", "kDecompositionCount", longer))


if __name__ == "__main__":
    main()
