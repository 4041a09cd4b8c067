#!/usr/bin/env python3
"""Makes a tokenizer.json of Llama 3's kind with 128,000 merges, for a measurement of speed.

usage: large_tokenizer_json.py TEXT FOLDER

A text of a few MB has no such vocabulary. The merges that it has come first; pairs of its tokens
follow, which are ranked behind them and so change few ids.
"""
import pathlib
import random
import sys

import json_kinds

MERGES, LEARNT, SEED = 128_000, 30_000, 40


def with_more_merges(vocabulary, merges):
    """Adds pairs of entries drawn by lot until there are MERGES."""
    draw, entries = random.Random(SEED), list(vocabulary)
    while len(merges) < MERGES:
        left, right = draw.choice(entries), draw.choice(entries)
        if left + right not in vocabulary:
            vocabulary[left + right] = len(vocabulary)
            merges.append((left, right))
    return vocabulary, merges


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    package = json_kinds.PACKAGE
    lines = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines(keepends=True)
    steps = package.pre_tokenizers.Sequence([
        json_kinds.split(json_kinds.LLAMA3),
        package.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    alphabet = package.pre_tokenizers.ByteLevel.alphabet()
    model = json_kinds.train(lines, steps, (), alphabet, LEARNT)
    tokenizer = package.Tokenizer(package.models.BPE(*with_more_merges(*model),
                                                     ignore_merges=True))
    tokenizer.pre_tokenizer = steps
    tokenizer.decoder = package.decoders.ByteLevel()
    json_kinds.save(tokenizer, pathlib.Path(sys.argv[2]), merges_as_texts=False)
    size = (pathlib.Path(sys.argv[2]) / "tokenizer.json").stat().st_size
    print(f"{sys.argv[2]}: {tokenizer.get_vocab_size()} entries, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
