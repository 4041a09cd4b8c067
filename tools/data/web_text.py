#!/usr/bin/env python3
"""Writes the World English Bible (public domain, modern English, 4.9 MB) as plain text.

usage: web_text.py OUT      one verse a line, an empty line between books, UTF-8
Needs Debian's libsword-utils and sword-text-web, which tools/setup.sh --text installs.
"""
import os
import re
import shutil
import subprocess
import sys

MODULE = "engWEB2015eb"
PACKAGES = "libsword-utils sword-text-web"
# A key is "Book chapter:verse"; chapter 0 and verse 0 are prefaces and headings.
VERSE_KEY = re.compile(r"\$\$\$(.+) [1-9]\d*:[1-9]\d*$")
ASIDE = re.compile(r"<(note|title)\b[^>]*(?<!/)>.*?</\1>", re.S)
TAG = re.compile(r"<[^>]+>")


def plain(markup):
    """The words of a verse: no footnotes, headings or tags, single blanks."""
    text = TAG.sub(" ", ASIDE.sub(" ", markup))
    text = re.sub(r"\s+", " ", text).strip(" ¶")
    text = re.sub(r" ([,.;:!?’”)])", r"\1", text)
    return re.sub(r"([‘“(]) ", r"\1", text)


def verses(dump):
    """Pairs (book, text), in the order of the module."""
    book, lines = None, []
    for line in dump.splitlines() + ["$$$"]:
        if line.startswith("$$$"):
            text = plain(" ".join(lines))
            if book and text:
                yield book, text
            found = VERSE_KEY.match(line)
            book, lines = (found[1] if found else None), []
        else:
            lines.append(line)


def dump_of(module):
    """What a module holds, as text with its markup."""
    if not shutil.which("mod2imp"):
        sys.exit(f"mod2imp is missing: install the packages {PACKAGES}")
    dump = subprocess.run(["mod2imp", module], capture_output=True, check=False).stdout
    return dump.decode("utf-8")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rows = list(verses(dump_of(MODULE)))
    if len(rows) < 37000:
        sys.exit(f"web_text.py: {MODULE}: {len(rows)} verses, not 37,000: install {PACKAGES}")
    out = sys.argv[1]
    os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
    previous = rows[0][0]
    with open(out + ".part", "w", encoding="utf-8") as file:
        for book, text in rows:
            file.write(("\n" if book != previous else "") + text + "\n")
            previous = book
    os.replace(out + ".part", out)
    print(f"{out}: {len(rows)} verses, {os.path.getsize(out) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
