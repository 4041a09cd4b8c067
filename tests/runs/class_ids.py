#!/usr/bin/env python3
"""Ids of 10,000 random pairs of texts, cut by longest_first, are those of the library SentencePiece
and of the rule of the package `tokenizers`, with a unigram model that is trained on TEXT and has
SentencePiece's whole map of characters.

usage: class_ids.py CLASS_IDS TEXT      TEXT as tools/data/web_text.py makes it
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "tools" / "golden"), str(TREE / "tools" / "data")]
import deberta_pieces  # noqa: E402
import python_packages  # noqa: E402

PIECES, PAIRS, CUTS, SEED, MOST = 8000, 10_000, 1500, 7, 64


def ours(program, tokenizer, path):
    ran = subprocess.run([program, str(tokenizer), str(path), str(MOST)], capture_output=True,
                         check=False)
    if ran.returncode != 0:
        sys.exit(f"failed: {ran.stderr.decode()}")
    return [list(map(int, line.split())) for line in ran.stdout.decode().splitlines()]


def cut(first, second, most):
    """The rule longest_first, of two texts that have `most` ids together."""
    short, long = sorted((len(first), len(second)))
    if short + long <= most:
        return first, second
    long = short if short > most else max(short, most - short)
    if short + long > most:
        short, long = most // 2, most - most // 2
    counts = (long, short) if len(first) > len(second) else (short, long)
    return first[:counts[0]], second[:counts[1]]


def pairs_of(lines):
    """Real lines and random texts, in both places."""
    import text_samples
    draw = random.Random(SEED)
    texts = text_samples.samples(lines, deberta_pieces.MARKS, PAIRS, SEED)
    others = text_samples.samples(lines, deberta_pieces.MARKS, PAIRS, SEED + 1)
    draw.shuffle(others)
    return list(zip(texts, others))


def rule_is_that_of_the_package():
    rule = deberta_pieces.LongestFirst()
    for first, second, most in deberta_pieces.lengths(CUTS, SEED):
        kept = tuple(map(len, cut([0] * first, [0] * second, most - 3)))
        if kept != rule.kept(first, second, most):
            sys.exit(f"failed: {first}, {second} of {most}: {kept}, tokenizers: "
                     f"{rule.kept(first, second, most)}")
    print(f"longest_first: {CUTS} cuts equal")


def ids_are_those_of_sentencepiece(program, folder, pairs):
    reference = deberta_pieces.Reference(folder)
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps({"sentence1": a, "sentence2": b, "label": i % 3}) + "\n"
                            for i, (a, b) in enumerate(pairs)))
    cuts = 0
    for i, ((a, b), row) in enumerate(zip(pairs, ours(program, folder, path), strict=True)):
        ids = reference.ids(a), reference.ids(b)
        first, second = cut(*ids, MOST - 3)
        cuts += (first, second) != ids
        expected = [i % 3, 1, *first, 2, *second, 2]
        if row != expected:
            sys.exit(f"failed: {a[:200]!r}, {b[:200]!r}: {row[:50]}, expected {expected[:50]}")
    print(f"{len(pairs)} pairs equal, {cuts} of them cut")
    if not 1000 < cuts < PAIRS - 1000:
        sys.exit("failed: too few pairs are cut, or too many")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    python_packages.use(*deberta_pieces.PACKAGES)
    program, source = sys.argv[1:]
    lines = pathlib.Path(source).read_text(encoding="utf-8").splitlines()
    rule_is_that_of_the_package()
    with tempfile.TemporaryDirectory(prefix="zeroapp-") as scratch:
        folder = pathlib.Path(scratch) / "pieces"
        deberta_pieces.save(lines, folder, PIECES)
        ids_are_those_of_sentencepiece(program, folder, pairs_of(lines))


if __name__ == "__main__":
    main()
