#!/usr/bin/env python3
"""Trains a byte-level BPE as GPT-2's on UTF-8 texts and writes vocab.json and merges.txt, which
data.tokenizer of an input file and tools/data/tokens.py --tokenizer read.

usage: bpe.py TEXT... --out FOLDER [--vocab-size 50257]

The same texts in the same order give the same files. The last id is <|endoftext|>. A text has only
so many pairs to merge: 5 MB of English may end below 50,257, which is then said. Such files are
whole: train with model.vocab_size at the size asked for, or at the size reached.
Needs the package `tokenizers`, which is downloaded into .deps/python at the first call.
"""
import argparse
import json
import os
import pathlib
import sys

import bpe_package

END_OF_TEXT = "<|endoftext|>"
BYTES = 256
LARGEST = 1 << 20  # entries that zeroapp reads


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--vocab-size", type=int, default=50257)
    found = parser.parse_args()
    if not BYTES < found.vocab_size <= LARGEST:
        parser.error(f"--vocab-size {found.vocab_size}: {BYTES + 1} to {LARGEST}")
    return found


def train(lines, vocab_size):
    """Learns from any iterable of texts: (entry -> id, pairs of entries by rank)."""
    package = bpe_package.tokenizers()
    tokenizer = bpe_package.byte_level_bpe()
    # Every byte is an entry, whatever the texts hold. The end of a text gets its id afterwards:
    # the trainer would give it the first.
    trainer = package.trainers.BpeTrainer(
        vocab_size=vocab_size - 1, show_progress=False,
        initial_alphabet=package.pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(lines, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    vocabulary = dict(sorted(model["vocab"].items(), key=lambda entry: entry[1]))
    vocabulary[END_OF_TEXT] = len(vocabulary)
    return vocabulary, model["merges"]


def lines_of(paths):
    for path in paths:
        with open(path, encoding="utf-8", newline="\n") as text:
            yield from text


def write(folder, name, text):
    path = folder / name
    partial = path.with_suffix(".part")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def save(folder, vocabulary, merges):
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, "vocab.json", json.dumps(vocabulary, ensure_ascii=False) + "\n")
    lines = ["#version: 0.2", *(f"{left} {right}" for left, right in merges)]
    write(folder, "merges.txt", "\n".join(lines) + "\n")


def main():
    asked = arguments()
    for path in asked.texts:
        if not os.path.isfile(path) or os.path.getsize(path) == 0:
            sys.exit(f"bpe.py: {path}: is no file with a text; tools/data/web_text.py "
                     "data/web.txt makes one")
    try:
        vocabulary, merges = train(lines_of(asked.texts), asked.vocab_size)
        save(pathlib.Path(asked.out), vocabulary, merges)
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"bpe.py: {' '.join(asked.texts)} to {asked.out}: {error}")
    print(f"{asked.out}: {len(vocabulary)} tokens, {len(merges)} merges")
    if len(vocabulary) < asked.vocab_size:
        print(f"{len(vocabulary)} of {asked.vocab_size} tokens: the texts have no more pairs to "
              f"merge; model.vocab_size = {asked.vocab_size} works, more text fills it")


if __name__ == "__main__":
    main()
