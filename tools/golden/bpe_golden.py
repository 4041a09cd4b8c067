#!/usr/bin/env python3
"""Golden values of the byte-level BPE: a small vocabulary, and texts with the words and ids that
the package `tokenizers` makes of them.

usage: bpe_golden.py TEXT [OUTDIR]      writes vocab.json, merges.txt and texts.json, into
                                        tests/golden/bpe by default
TEXT is English for the vocabulary, as tools/data/web_text.py makes it. The vocabulary is trained on
it and on random texts, so that it has merges in every plane: without them any cut of a text gives
the same ids. texts.json has one row a text: [text, bytes of each word, ids].
"""
import json
import pathlib
import random
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tools" / "data"))
import bpe  # noqa: E402
import bpe_package  # noqa: E402

VOCABULARY, TEXTS, SEED = 900, 300, 20
ENGLISH_BYTES = 300_000
FIXED = (
    "", " ", "\n", "  ", " \n ", "a", " a", "  a", "a ", "a  ", "\t\ta",
    "a\u00a0b", "a \u00a0b", "a\u3000\u3000b", "\u180e\u200b\u2060",
    "I'll we've they're don't he'd I'm it's", "'S 'LL 'lll 's's ''s '", "don 't",
    "x1y22 333  4444", "\u0664\u0662 \u2167\u00bd\u00b2",
    "... !? a.b,c -- \u2026", "$1,000.50 (5%)",
    "caf\u00e9 cafe\u0301", "\u65e5\u672c\u8a9e\u3067\u3059\u3002",
    "\U0001f600 \U0001f468\u200d\U0001f469", "\ufeffa\ufffe\uffff",
    "\x00\x01\x1c\x1d\x1e\x1f\x7f\x85", "line\r\nline\r\n\r\n  end",
    "<|endoftext|>", "a" * 100, " " * 70 + "b", "ab" * 50)
# What decides about cuts, in about equal shares.
PALETTE = (list(" \t\n\r\u00a0\u2003\u3000\x85\x1c"), ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"],
           list("abcXYZ"), list("0189\u0663\u00b2\u2167"), list("'.,!?-_#$\u00a7\u20ac"),
           list("\u00e9\u0436\u05d0\u0e01\u4e2d\u3042\ud55c\U00010400"),
           list("\u0301\u200d\ufe0f\u0e31"), list("\U0001f600\U0001f1e6\U000e0041"))


def any_character(draw):
    """Uniform over all planes, surrogates left out."""
    code_point = draw.randrange(0x110000 - 0x800)
    return chr(code_point + 0x800 if code_point >= 0xD800 else code_point)


def random_text(draw):
    """Has 1 to 40 pieces: characters of all planes, of the palette, or both."""
    share = draw.choice((0, 0.5, 1))
    return "".join(any_character(draw) if draw.random() < share else
                   draw.choice(draw.choice(PALETTE)) for _ in range(draw.randint(1, 40)))


def random_texts(count, seed):
    draw = random.Random(seed)
    return [random_text(draw) for _ in range(count)]


def train(english, size, seed):
    """A vocabulary of English and of random texts, in this order of weight."""
    lines = english.splitlines(keepends=True)
    return bpe.train(lines + random_texts(3000, seed), size)


def row(tokenizer, text):
    pieces = tokenizer.pre_tokenizer.pre_tokenize_str(text)
    return [text, [len(piece) for piece, _ in pieces], tokenizer.encode(text).ids]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    english = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")[:ENGLISH_BYTES]
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else TREE / "tests" / "golden" / "bpe"
    bpe.save(out, *train(english, VOCABULARY, SEED))
    tokenizer = bpe_package.byte_level_bpe(out)
    texts = [*FIXED, english[:2000], *random_texts(TEXTS, SEED + 1)]
    rows = [json.dumps(row(tokenizer, text), separators=(",", ":")) for text in texts]
    (out / "texts.json").write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
    print(f"{out}: {len(rows)} texts, {(out / 'texts.json').stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
