#!/usr/bin/env python3
"""Writes a UTF-8 text as a token file: 16-bit ids behind a header, which
include/zero/io/data/token_file.hpp describes. For now a token is a byte, the vocabulary is 256.

usage: tokens.py TEXT OUT.bin
"""
import os
import struct
import sys
import zlib

MAGIC = b"\x93ZTOK\r\n\x1a"
VERSION, VOCABULARY = 1, 256
PIECE = 1 << 20


def header(tokens, crc):
    return struct.pack("<8sIIQII", MAGIC, VERSION, VOCABULARY, tokens, crc, 0)


def widen(piece):
    """Every byte as a little-endian 16-bit id."""
    ids = bytearray(2 * len(piece))
    ids[::2] = piece
    return ids


def convert(text, out):
    tokens = crc = 0
    out.write(header(0, 0))
    while piece := text.read(PIECE):
        ids = widen(piece)
        crc = zlib.crc32(ids, crc)
        tokens += len(piece)
        out.write(ids)
    if tokens == 0:
        raise ValueError("is empty")
    out.seek(0)
    out.write(header(tokens, crc))
    return tokens


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, target = sys.argv[1:]
    partial = target + ".part"
    try:
        with open(source, "rb") as text, open(partial, "wb") as out:
            tokens = convert(text, out)
        os.replace(partial, target)
    except (OSError, ValueError) as error:
        sys.exit(f"tokens.py: {source}: {error}; tools/data/web_text.py data/web.txt makes a text")
    print(f"{target}: {tokens} tokens of {VOCABULARY}")


if __name__ == "__main__":
    main()
