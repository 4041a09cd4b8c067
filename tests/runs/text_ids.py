#!/usr/bin/env python3
"""Ids, texts and special ids are those of Transformers, of a stated version: a SentencePiece model
as T5Tokenizer has it and a byte-level BPE as BlenderbotTokenizer has it, both trained on TEXT, each
on 10,000 texts: real lines, with and without special tokens, and random ones of all of Unicode.

usage: text_ids.py TEXT_IDS TEXT      TEXT as tools/data/web_text.py makes it
"""
import pathlib
import struct
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "tools" / "golden"), str(TREE / "tools" / "data")]
import python_packages  # noqa: E402
import tokenizer_golden  # noqa: E402

PIECES, WORDS, TEXTS = 8000, 8008, 10_000


class Rows:
    """Rows that text_ids has written, each behind its count."""

    def __init__(self, content):
        self.content, self.at = content, 0

    def take(self, width):
        (count,) = struct.unpack_from("<I", self.content, self.at)
        begin = self.at + 4
        self.at = begin + width * count
        return self.content[begin:self.at]

    def numbers(self):
        return [number for (number,) in struct.iter_unpack("<i", self.take(4))]


def ours(program, tokenizer, texts):
    framed = b"".join(struct.pack("<I", len(text)) + text for text in map(str.encode, texts))
    ran = subprocess.run([program, str(tokenizer)], input=framed, capture_output=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"failed: {ran.stderr.decode()}")
    rows = Rows(ran.stdout)
    return rows.numbers(), [(rows.numbers(), rows.take(1).decode(errors="replace"))
                            for _ in texts]


def compare(name, tokenizer, texts, found):
    for text, (ids, decoded) in zip(texts, found):
        expected = tokenizer_golden.ids_of(tokenizer, text)
        if ids != expected:
            sys.exit(f"failed: {name}: {text[:200]!r}: {ids[:50]}, Transformers: {expected[:50]}")
        expected = tokenizer_golden.text_of(tokenizer, ids)
        if decoded != expected:
            sys.exit(f"failed: {name}: {ids[:50]}: {decoded[:200]!r}, Transformers: "
                     f"{expected[:200]!r}")
    print(f"{name}: {len(texts)} texts, {sum(len(ids) for ids, _ in found)} ids equal")


def special_of(tokenizer):
    """In the order of text_ids."""
    first = tokenizer.convert_tokens_to_ids("<extra_id_0>")
    sentinels = sum(token.startswith("<extra_id_") for token in tokenizer.get_vocab())
    return [-1 if id is None else id for id in (
        tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id,
        tokenizer.unk_token_id)] + [first if sentinels else -1, sentinels, len(tokenizer)]


def check(name, program, folder, tokenizer, texts):
    special, found = ours(program, folder, texts)
    if special != special_of(tokenizer):
        sys.exit(f"failed: {name}: special ids {special}, Transformers: {special_of(tokenizer)}")
    compare(name, tokenizer, texts, found)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    python_packages.use(*tokenizer_golden.PACKAGES)
    import bpe_golden
    import text_samples
    program, source = sys.argv[1:]
    lines = pathlib.Path(source).read_text(encoding="utf-8").splitlines()
    print(f"transformers {tokenizer_golden.TRANSFORMERS}")
    with tempfile.TemporaryDirectory(prefix="zeroapp-") as scratch:
        pieces, words = pathlib.Path(scratch) / "pieces", pathlib.Path(scratch) / "words"
        tokenizer = tokenizer_golden.save_pieces(lines, pieces, PIECES)
        texts = text_samples.samples(lines, tokenizer_golden.SENTINELS, TEXTS, seed=1)
        check("T5Tokenizer", program, pieces, tokenizer, texts)
        check("T5Tokenizer, the model alone", program, pieces / "spiece.model", tokenizer,
              texts[:1000])
        odd = bpe_golden.random_texts(3000, seed=2)
        tokenizer = tokenizer_golden.save_words(lines + odd, words, WORDS)
        texts = text_samples.samples(lines, tokenizer_golden.MARKS, TEXTS, seed=3)
        check("BlenderbotTokenizer", program, words, tokenizer, texts)
    print("all ids equal")


if __name__ == "__main__":
    main()
