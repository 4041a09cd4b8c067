#!/usr/bin/env python3
"""Prints a line "DIGEST SOURCE" for each source: the SHA-256 of what a compiler reads of the source
and of our own headers that it includes, and of the words that tell of compiler and flags. Comments
and blanks at the ends of lines are none of it.
usage: cuda_hashes.py WORDS SOURCE..."""
import hashlib
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "cmake"))
from unity_groups import TEXT, headers_of  # noqa: E402


def code_of(path):
    with open(path, encoding="utf-8") as file:
        code = TEXT.sub(lambda text: "" if text[0].startswith("/") else text[0], file.read())
    return "\n".join(line.rstrip() for line in code.splitlines() if line.strip())


def digest(words, source):
    sum_of_all = hashlib.sha256(words.encode())
    for path in (source, *sorted(headers_of(source))):
        code = code_of(path)
        sum_of_all.update(f"\0{os.path.relpath(path, ROOT)}\0{code}".encode())
    return sum_of_all.hexdigest()


if __name__ == "__main__":
    os.chdir(ROOT)
    for name in sys.argv[2:]:
        print(digest(sys.argv[1], name), name)
