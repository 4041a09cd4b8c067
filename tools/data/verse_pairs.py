#!/usr/bin/env python3
"""Writes the verses of the King James Bible, in the spelling of 1769, beside those of the World
English Bible: pairs of texts to learn a translation from, both in the public domain.

usage: verse_pairs.py FOLDER [--pieces N]
  FOLDER/train.source and train.target, a verse a line, and a twentieth of all in val.*, taken
  evenly. With --pieces also FOLDER/pieces/spiece.model, N pieces of both that T5's rules fit.
Needs Debian's libsword-utils, sword-text-kjv and sword-text-web, and for pieces sentencepiece,
which tools/setup.sh --pairs installs.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import web_text

OLD, NEW = "engKJV2006eb", web_text.MODULE
HELD_OUT = 20  # one verse in so many


def by_place(module):
    """The text of each verse, by "Book chapter:verse"."""
    place, found = None, {}
    for line in web_text.dump_of(module).splitlines():
        if line.startswith("$$$"):
            place = line[3:] if web_text.VERSE_KEY.match(line) else None
        elif place:
            found[place] = f"{found.get(place, '')} {line}"
    texts = {place: web_text.plain(markup) for place, markup in found.items()}
    return {place: text for place, text in texts.items() if text}


def pairs():
    old, new = by_place(OLD), by_place(NEW)
    both = [(text, new[place]) for place, text in old.items() if place in new]
    if len(both) < 31000:
        sys.exit(f"verse_pairs.py: {len(both)} verses stand in both {OLD} and {NEW}, not 31,000: "
                 "install sword-text-kjv and sword-text-web")
    return both


def write_lines(path, lines):
    path.with_suffix(".part").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    os.replace(path.with_suffix(".part"), path)


def write_pairs(folder, rows, one_in):
    for number, end in enumerate(("source", "target")):
        texts = [row[number] for row in rows]
        write_lines(folder / f"train.{end}", [t for i, t in enumerate(texts) if i % one_in])
        write_lines(folder / f"val.{end}", texts[::one_in])


def write_pieces(folder, count):
    """Ids 0, 1 and 2 are those of T5: padding, the end of a text, and what is unknown."""
    folder.joinpath("pieces").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        subprocess.run(["spm_train", f"--input={folder}/train.source,{folder}/train.target",
                        f"--model_prefix={made}/spiece", f"--vocab_size={count}", "--pad_id=0",
                        "--eos_id=1", "--unk_id=2", "--bos_id=-1", "--minloglevel=2"], check=True)
        os.replace(f"{made}/spiece.model", folder / "pieces/spiece.model")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pieces", type=int, default=0)
    args = parser.parse_args()
    rows = pairs()
    args.folder.mkdir(parents=True, exist_ok=True)
    write_pairs(args.folder, rows, HELD_OUT)
    if args.pieces:
        write_pieces(args.folder, args.pieces)
    print(f"{args.folder}: {len(rows)} pairs of verses, one in {HELD_OUT} of them held out")


if __name__ == "__main__":
    main()
