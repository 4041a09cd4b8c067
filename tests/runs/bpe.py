#!/usr/bin/env python3
"""Ids are those of the package `tokenizers`: of 1 MB of English and of 10,000 random texts over all
planes, with a vocabulary of 50,257 trained on others of both kinds; each decodes to its text.

usage: bpe.py BPE_IDS TEXT      TEXT as tools/data/web_text.py makes it
"""
import pathlib
import struct
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "tools" / "golden"), str(TREE / "tools" / "data")]
import bpe  # noqa: E402
import bpe_golden  # noqa: E402
import bpe_package  # noqa: E402

VOCABULARY, RANDOM_TEXTS, ENGLISH = 50257, 10_000, 1_000_000


def ours(program, folder, texts):
    """Rows of ids, by tests/runs/bpe_ids.cpp."""
    framed = b"".join(struct.pack("<I", len(text)) + text for text in map(str.encode, texts))
    ran = subprocess.run([program, folder], input=framed, capture_output=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"failed: {ran.stderr.decode()}")
    rows, at = [], 0
    while at < len(ran.stdout):
        (count,) = struct.unpack_from("<I", ran.stdout, at)
        rows.append(list(struct.unpack_from(f"<{count}i", ran.stdout, at + 4)))
        at += 4 + 4 * count
    return rows


def compare(kind, texts, found, tokenizer):
    if len(found) != len(texts):
        sys.exit(f"failed: {len(found)} rows of {len(texts)}")
    for text, ids in zip(texts, found):
        expected = tokenizer.encode(text).ids
        if ids != expected:
            sys.exit(f"failed: {text[:200]!r}: {ids[:50]}, the package: {expected[:50]}")
        if tokenizer.decode(ids, skip_special_tokens=False) != text:
            sys.exit(f"failed: the package decodes {text[:200]!r} otherwise")
    size = sum(len(text.encode()) for text in texts)
    print(f"{kind}: {len(texts)} texts, {size} bytes, {sum(map(len, found))} ids equal")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, source = sys.argv[1:]
    english = pathlib.Path(source).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="zeroapp-") as folder:
        bpe.save(pathlib.Path(folder), *bpe_golden.train(english, VOCABULARY, seed=1))
        tokenizer = bpe_package.byte_level_bpe(folder)
        print(f"vocabulary: {tokenizer.get_vocab_size()}")
        for kind, texts in (("English", [english[:ENGLISH]]),
                            ("random", bpe_golden.random_texts(RANDOM_TEXTS, seed=2))):
            compare(kind, texts, ours(program, folder, texts), tokenizer)
    print("all ids equal")


if __name__ == "__main__":
    main()
