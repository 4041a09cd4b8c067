#!/usr/bin/env python3
"""Ids, words, texts and frames by tokenizer.json are those of the package `tokenizers`: of 1 MB of
English and of 10,000 random texts, for each kind of tokenizer that is read, trained on the spot.

usage: tokenizer_json.py TOKENIZER_JSON_IDS TEXT [KIND...]  TEXT as tools/data/web_text.py makes it
"""
import pathlib
import struct
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "tools" / "golden"), str(TREE / "tools" / "data")]
import bpe_golden  # noqa: E402
import json_kinds  # noqa: E402

RANDOM_TEXTS, ENGLISH, LEARNT = 10_000, 1_000_000, 300_000
WHAT = ("ids", "ids with names as text", "words", "text", "text without special tokens")


def rows(program, folder, texts):
    """The frame, and five rows a text, by tests/runs/tokenizer_json_ids.cpp."""
    framed = b"".join(struct.pack("<I", len(text)) + text for text in map(str.encode, texts))
    ran = subprocess.run([program, folder], input=framed, capture_output=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"failed: {ran.stderr.decode()}")
    found, at = [], 0
    while at < len(ran.stdout):
        (count,) = struct.unpack_from("<I", ran.stdout, at)
        is_text = len(found) >= 2 and (len(found) - 2) % 5 >= 3
        size = count if is_text else 4 * count
        row = ran.stdout[at + 4:at + 4 + size]
        found.append(row.decode(errors="replace") if is_text else
                     list(struct.unpack(f"<{count}i", row)))
        at += 4 + size
    return found[:2], list(zip(*[iter(found[2:])] * 5))


def expected(tokenizer, text):
    tokenizer.encode_special_tokens = False
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    tokenizer.encode_special_tokens = True
    plain = tokenizer.encode(text, add_special_tokens=False).ids
    tokenizer.encode_special_tokens = False
    return (ids, plain, json_kinds.words(tokenizer, text),
            tokenizer.decode(ids, skip_special_tokens=False),
            tokenizer.decode(ids, skip_special_tokens=True))


def compare(kind, tokenizer, texts, found):
    if len(found) != len(texts):
        sys.exit(f"failed: {kind}: {len(found)} rows of {len(texts)}")
    for text, ours in zip(texts, found):
        for what, own, other in zip(WHAT, ours, expected(tokenizer, text)):
            if own != other:
                sys.exit(f"failed: {kind}: {what} of {text[:200]!r}: {own[:60]!r}, the package: "
                         f"{other[:60]!r}")


def compare_frame(kind, tokenizer, frame):
    ids = tokenizer.encode("a", add_special_tokens=False).ids
    if frame[0] + ids + frame[1] != tokenizer.encode("a").ids:
        sys.exit(f"failed: {kind}: the frame is {frame}")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, source = sys.argv[1:3]
    english = pathlib.Path(source).read_text(encoding="utf-8")
    learnt = english[:LEARNT].splitlines(keepends=True) + bpe_golden.random_texts(1500, seed=1)
    # Whole, and in documents.
    texts = [english[:ENGLISH], *english[:ENGLISH // 20].splitlines(keepends=True), "",
             *json_kinds.random_texts(RANDOM_TEXTS, seed=2)]
    with tempfile.TemporaryDirectory(prefix="zeroapp-") as scratch:
        for number, (kind, tokenizer) in enumerate(json_kinds.kinds(learnt)):
            if len(sys.argv) > 3 and kind not in sys.argv[3:]:
                continue
            folder = pathlib.Path(scratch) / kind
            json_kinds.save(tokenizer, folder, merges_as_texts=number % 2 == 1)
            frame, found = rows(program, str(folder), texts)
            compare_frame(kind, tokenizer, frame)
            compare(kind, tokenizer, texts, found)
            print(f"{kind}: {len(texts)} texts, {sum(len(row[0]) for row in found)} ids equal",
                  flush=True)
    print("all equal")


if __name__ == "__main__":
    main()
