#!/usr/bin/env python3
"""Writes phrases of the World English Bible beside the same phrases in a spelling of about 1600,
which rules make: pairs of texts that are to be learnt to the letter.

usage: spelling_pairs.py FOLDER [--pieces N]
  FOLDER/train.source, train.target, and a thousand phrases in val.*, none of which is among the
  others. With --pieces also FOLDER/pieces/spiece.model, as verse_pairs.py makes it.
Needs what web_text.py needs, and for pieces sentencepiece.
"""
import argparse
import pathlib
import re
import sys

import verse_pairs
import web_text

SHORTEST, LONGEST = 12, 48  # characters of a phrase
HELD_OUT = 1000
SPELT_ALIKE = 4  # one in so many of the phrases that the rules leave as they are
# From the end of a word to its letters; each is (pattern, what stands there then).
RULES = (
    (r"(?<=[bdfgklmnprtvw])ed\b", "'d"),           # turn'd
    (r"(?<=\w[bcdfghklmnprstv])y\b", "ie"),        # citie
    (r"(?<=\w\w)ss\b", "sse"),                     # goodnesse
    (r"(?<=\w)ic\b", "icke"),                      # musicke
    (r"(?<=[aeo][aeiou])([dklmnprt])\b", r"\1e"),  # keepe, speake
    (r"\bu", "v"), (r"\bU", "V"),                  # vpon
    (r"(?<=\w)v", "u"),                            # haue
    (r"\bj", "i"), (r"\bJ", "I"),                  # ioy
)


def old_spelling(text):
    for pattern, letters in RULES:
        text = re.sub(pattern, letters, text)
    return text


def phrases():
    """What stands between marks of punctuation, each once, in the order of the text."""
    found = {}
    for _, verse in web_text.verses(web_text.dump_of(web_text.MODULE)):
        for phrase in re.split(r"[^\w '’-]+", verse.replace("’", "'")):
            phrase = phrase.strip(" '-")
            if SHORTEST <= len(phrase) <= LONGEST and phrase.isascii():
                found[phrase] = None
    return list(found)


def chosen(rows):
    """Without most of those that it would be right to copy."""
    alike = 0
    for modern, old in rows:
        alike += modern == old
        if modern != old or alike % SPELT_ALIKE == 0:
            yield modern, old


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pieces", type=int, default=0)
    args = parser.parse_args()
    found = phrases()
    if len(found) < 50000:
        sys.exit(f"spelling_pairs.py: {len(found)} phrases, not 50,000: install "
                 f"{web_text.PACKAGES}")
    rows = list(chosen((phrase, old_spelling(phrase)) for phrase in found))
    step = len(rows) // HELD_OUT
    args.folder.mkdir(parents=True, exist_ok=True)
    verse_pairs.write_pairs(args.folder, rows, step)
    if args.pieces:
        verse_pairs.write_pieces(args.folder, args.pieces)
    same = sum(modern == old for modern, old in rows[::step])
    print(f"{args.folder}: {len(rows)} phrases, one in {step} of them held out, where "
          f"{same / len(rows[::step]):.0%} are spelt alike")


if __name__ == "__main__":
    main()
