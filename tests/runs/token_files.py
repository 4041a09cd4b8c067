"""The bytes of every format that zeroapp reads tokens from, written here from their description."""
import struct
import zlib

CODES = {1: "B", 2: "b", 3: "h", 4: "i", 5: "q", 8: "H"}  # Megatron's types, as struct names them
# GPT-2's letters for bytes: those that print as themselves, then the others from U+0100 on.
_PRINTED = [*range(33, 127), *range(161, 173), *range(174, 256)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTED]
_LETTERS = [chr(byte) for byte in _PRINTED] + [chr(256 + i) for i in range(len(_OTHERS))]
LETTER_OF_BYTE = dict(zip((*_PRINTED, *_OTHERS), _LETTERS))
BPE_VOCABULARY = {entry: i for i, entry in enumerate([*_LETTERS, "pl", "plu", "plus"])}


def packed(ids, kind):
    return struct.pack(f"<{len(ids)}{kind}", *ids)


def token_file(ids, vocabulary=1000, version=1, tokens=None):
    body = packed(ids, "H" if vocabulary <= 65536 else "I")
    count = len(ids) if tokens is None else tokens
    return struct.pack("<8sIIQII", b"\x93ZTOK\r\n\x1a", version, vocabulary, count,
                       zlib.crc32(body), 0) + body


def llmc(ids, magic=20240520, version=None, tokens=None):
    wide = magic == 20240801
    version = version or (7 if wide else 1)
    count = len(ids) if tokens is None else tokens
    header = struct.pack("<iii", magic, version, count).ljust(1024, b"\0")
    return header + packed(ids, "I" if wide else "H")


def nanogpt(ids):
    return packed(ids, "H")


def size_of(code):
    return struct.calcsize(CODES.get(code, "f"))


def mapped_index(sizes, code=8, version=1, places=None, borders=None, counts=None):
    starts = [sum(sizes[:i]) * size_of(code) for i in range(len(sizes))]
    borders = list(range(len(sizes) + 1)) if borders is None else borders
    counts = counts or (len(sizes), len(borders))
    return (struct.pack("<9sQBQQ", b"MMIDIDX\0\0", version, code, *counts) + packed(sizes, "i") +
            packed(places or starts, "q") + packed(borders, "q"))


def legacy_index(sizes, code=8, version=1, width=None, places=None, dimensions=None, counts=None):
    starts = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    borders = list(range(len(sizes) + 1))
    counts = counts or (len(sizes), len(sizes), len(borders))
    width = width or size_of(code)
    return (struct.pack("<8sQQQQQQ", b"TNTIDX\0\0", version, code, width, *counts) +
            packed(dimensions or borders, "q") + packed(places or starts, "q") +
            packed(sizes, "q") + packed(borders, "q"))


def all_formats(ids):
    """name -> {suffix: bytes} of the same ids, all of them below 128."""
    sizes = [len(ids) // 2, 0, len(ids) - len(ids) // 2]
    formats = {
        "tokens16": {".bin": token_file(ids, 256)},
        "llmc16": {".bin": llmc(ids)},
        "llmc32": {".bin": llmc(ids, magic=20240801)},
        "nanogpt": {".bin": nanogpt(ids)},
    }
    for code, kind in CODES.items():
        body = packed(ids, kind)
        formats[f"mapped{code}"] = {".bin": body, ".idx": mapped_index(sizes, code)}
        formats[f"legacy{code}"] = {".bin": body, ".idx": legacy_index(sizes, code)}
    return formats
