#!/usr/bin/env python3
"""Writes a UTF-8 text as a token file: ids behind a header, which
io/data/token_source.hpp describes. A token is a byte, the vocabulary 256, or what a
byte-level BPE makes of it: a folder with vocab.json and merges.txt, as tools/data/bpe.py trains.

usage: tokens.py TEXT OUT.bin [--tokenizer FOLDER]

With --tokenizer it needs the package `tokenizers`, downloaded into .deps/python at the first call.
Ids have 16 bits up to a vocabulary of 65536, else 32. The text is read in pieces of any length.
"""
import array
import os
import re
import struct
import sys
import zlib

import bpe_package

MAGIC = b"\x93ZTOK\r\n\x1a"
VERSION, BYTES = 1, 256
PIECE, PIECES = 1 << 16, 16  # characters that are encoded at one time, and by as many threads
LAST_CUT = re.compile(r".*\S(?=[ \n])", re.S)


def byte_ids(text):
    while piece := text.buffer.read(PIECE * PIECES):
        yield piece


def pieces_of(text):
    """The text in pieces that end where a blank follows a word: no token spans such a place."""
    rest = ""
    while read := text.read(PIECE):
        rest += read
        if cut := LAST_CUT.match(rest):
            yield cut[0]
            rest = rest[cut.end():]
    yield rest


def bpe_ids(text, tokenizer):
    batch = []
    for piece in pieces_of(text):
        batch.append(piece)
        if len(batch) == PIECES:
            yield from (found.ids for found in tokenizer.encode_batch_fast(batch))
            batch = []
    yield from (found.ids for found in tokenizer.encode_batch_fast(batch))


def header(vocabulary, tokens, crc):
    return struct.pack("<8sIIQII", MAGIC, VERSION, vocabulary, tokens, crc, 0)


def packed(ids, vocabulary):
    """Little-endian ids."""
    numbers = array.array("H" if vocabulary <= 1 << 16 else "I")
    numbers.extend(ids)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def convert(ids, vocabulary, out):
    tokens = crc = 0
    out.write(header(vocabulary, 0, 0))
    for some in ids:
        body = packed(some, vocabulary)
        crc = zlib.crc32(body, crc)
        tokens += len(some)
        out.write(body)
    if tokens == 0:
        raise ValueError("is empty")
    out.seek(0)
    out.write(header(vocabulary, tokens, crc))
    return tokens


def opened(folder):
    try:
        return bpe_package.byte_level_bpe(folder)
    except ValueError as error:
        sys.exit(f"tokens.py: {error}")


def main():
    words = sys.argv[1:]
    folder = words.pop() if len(words) == 4 and words.pop(2) == "--tokenizer" else None
    if len(words) != 2:
        sys.exit(__doc__)
    source, target = words
    partial = target + ".part"
    tokenizer = opened(folder) if folder else None
    vocabulary = tokenizer.get_vocab_size() if tokenizer else BYTES
    try:
        with open(source, encoding="utf-8", newline="") as text, open(partial, "wb") as out:
            ids = bpe_ids(text, tokenizer) if tokenizer else byte_ids(text)
            tokens = convert(ids, vocabulary, out)
        os.replace(partial, target)
    except (OSError, ValueError) as error:
        sys.exit(f"tokens.py: {source}: {error}; tools/data/web_text.py data/web.txt makes a text")
    print(f"{target}: {tokens} tokens of {vocabulary}")


if __name__ == "__main__":
    main()
