#!/usr/bin/env python3
"""Writes pairs of texts to sort into two classes: a verse in the King James Bible of 1769 and the
same verse in the World English Bible, the older one first or second. Both are in the public domain.

usage: verse_order.py FOLDER [--pieces N]
  FOLDER/train.jsonl and val.jsonl, an object a line with sentence1, sentence2 and label: "first" or
  "second", which of the two is the older text. Every verse is there once in either order, so both
  classes have the same size and the same texts. val.jsonl has each twentieth verse, and no text of
  train.jsonl. With --pieces also FOLDER/pieces with spm.model, N pieces of the training verses
  whose first four ids are DeBERTa's, and tokenizer_config.json.
Needs what verse_pairs.py needs.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import verse_pairs

SEED = 1
# Ids 0 to 3. [MASK], which no text has, is behind all pieces.
SPECIAL = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}
SETTINGS = {"tokenizer_class": "DebertaV2Tokenizer", "do_lower_case": False,
            "split_by_punct": False, "vocab_type": "spm", "pad_token": "[PAD]",
            "cls_token": "[CLS]", "bos_token": "[CLS]", "sep_token": "[SEP]",
            "eos_token": "[SEP]", "unk_token": "[UNK]", "mask_token": "[MASK]"}


def held_out(rows):
    """(training verses, held-out verses), of which no two share a text."""
    train = [row for number, row in enumerate(rows) if number % verse_pairs.HELD_OUT]
    known = {text for row in train for text in row}
    return train, [row for row in rows[::verse_pairs.HELD_OUT] if not known.intersection(row)]


def ordered(verses):
    """Rows (first text, second text, which one is older) of verses whose texts differ."""
    differing = [(old, new) for old, new in verses if old != new]
    rows = [(old, new, "first") for old, new in differing]
    rows += [(new, old, "second") for old, new in differing]
    random.Random(SEED).shuffle(rows)
    return rows


def write_rows(path, rows):
    verse_pairs.write_lines(path, (
        json.dumps({"sentence1": first, "sentence2": second, "label": label}, ensure_ascii=False)
        for first, second, label in rows))


def write_pieces(folder, verses, count):
    pieces = folder / "pieces"
    pieces.mkdir(exist_ok=True)
    names = [f"--{role}_{what}={value}" for number, (role, piece) in enumerate(SPECIAL.items())
             for what, value in (("id", number), ("piece", piece))]
    with tempfile.TemporaryDirectory(dir=folder) as made:
        text = pathlib.Path(made, "text")
        verse_pairs.write_lines(text, (line for verse in verses for line in verse))
        subprocess.run(["spm_train", f"--input={text}", f"--model_prefix={made}/spm",
                        f"--vocab_size={count}", *names, "--minloglevel=2"], check=True)
        os.replace(f"{made}/spm.model", pieces / "spm.model")
    (pieces / "tokenizer_config.json").write_text(json.dumps(SETTINGS, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pieces", type=int, default=0)
    args = parser.parse_args()
    train, val = held_out(verse_pairs.pairs())
    args.folder.mkdir(parents=True, exist_ok=True)
    for name, verses in (("train", train), ("val", val)):
        rows = ordered(verses)
        write_rows(args.folder / f"{name}.jsonl", rows)
        print(f"{args.folder}/{name}.jsonl: {len(rows)} pairs of {len(rows) // 2} verses")
    if args.pieces:
        write_pieces(args.folder, train, args.pieces)


if __name__ == "__main__":
    sys.exit(main())
