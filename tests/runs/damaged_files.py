"""Files of tokens that are wrong in one place each, and what an error must say of it."""
import token_files as make

IDS = [7, 300, 999, 0, 5, 6, 4, 3, 2, 1]
SIZES = [4, 6]


def bin_files():
    """name -> (content, words of the error)."""
    good, wide = make.token_file(IDS), make.token_file(IDS, vocabulary=70000)
    llmc, llama = make.llmc(IDS), make.llmc(IDS, magic=20240801)
    cases = {
        "empty": (b"", "is empty"),
        "text": (b"Once upon a time there was a text.\n", "offset 0: is no token file but"),
        "half": (make.nanogpt(IDS) + b"\x01", "offset 20: half an id"),
        "beyond": (make.nanogpt([1, 2, 1000]), "offset 4: token 1000 is beyond"),
        "version": (make.token_file(IDS, version=2), "offset 8: version 2"),
        "version0": (make.token_file(IDS, version=0), "offset 8: version 0"),
        "no vocabulary": (make.token_file(IDS, vocabulary=0), "offset 12: a vocabulary of 0"),
        "vocabulary": (make.token_file(IDS, vocabulary=2**31 + 1), "offset 12: a vocabulary"),
        "larger model": (make.token_file(IDS, vocabulary=1001), "model.vocab_size = 1001"),
        "wide model": (wide, "model.vocab_size = 70000"),
        "no tokens": (make.token_file([]), "offset 16: the header says 0"),
        "count": (make.token_file(IDS, tokens=11), "offset 16: the header says 11"),
        "count less": (make.token_file(IDS, tokens=9), "offset 16: the header says 9"),
        "count wraps": (make.token_file(IDS, tokens=2**63 + 10), "offset 16: the header says"),
        "count most": (make.token_file(IDS, tokens=2**64 - 1), "offset 16: the header says"),
        "longer": (good + b"\0", "offset 16: the header says 10"),
        "two longer": (good + b"\0\0", "offset 16: the header says 10"),
        "id": (make.token_file([1, 1000]), "offset 34: token 1000 is beyond"),
        "flipped": (good[:40] + b"\x01" + good[41:], "the ids have CRC-32"),
        "checksum": (good[:24] + b"\0" + good[25:], "the ids have CRC-32"),
        "llmc version": (make.llmc(IDS, version=2), "offset 4: version 2"),
        "llama version": (make.llmc(IDS, magic=20240801, version=1), "offset 4: version 1"),
        "llmc count": (make.llmc(IDS, tokens=11), "offset 8: the header says 11"),
        "llmc none": (make.llmc([]), "offset 8: the header says 0"),
        "llmc below": (make.llmc(IDS, tokens=-10), "offset 8: the header says -10"),
        "llmc most": (make.llmc(IDS, tokens=2**31 - 1), "offset 8: the header says 2147483647"),
        "llmc longer": (llmc + b"\0", "offset 8: the header says 10"),
        "llmc swapped": (llmc[3::-1] + llmc[4:], "big-endian"),
        "llama swapped": (llama[3::-1] + llama[4:], "big-endian"),
        "llmc id": (make.llmc([1, 1000]), "offset 1026: token 1000"),
        "llama id": (make.llmc([1, 2**32 - 1], magic=20240801), "offset 1028: token 4294967295"),
    }
    for length in (1, 7, 8, 12, 31, 33):
        cases[f"cut {length}"] = (good[:length], "offset ")
    for length in (4, 8, 12, 1023, 1024, 1025):
        cases[f"llmc cut {length}"] = (llmc[:length], "offset ")
    return cases


def pairs():
    """name -> (the .bin, the .idx, words of the error)."""
    body = make.nanogpt(IDS)
    mapped, legacy = make.mapped_index, make.legacy_index
    good, old = mapped(SIZES), legacy(SIZES)
    most = 2**63 - 1
    cases = {
        "idx empty": (body, b"", "idx: is empty"),
        "idx magic": (body, b"X" + good[1:], "idx: offset 0: is no index"),
        "idx text": (body, b"this is a text\n", "idx: offset 0: is no index"),
        "idx version": (body, mapped(SIZES, version=2), "idx: offset 9: version 2"),
        "idx swapped": (body, mapped(SIZES, version=1 << 56), "idx: offset 9: version"),
        "type 0": (body, good[:17] + b"\0" + good[18:], "idx: offset 17: type 0"),
        "type 6": (body, good[:17] + b"\6" + good[18:], "idx: offset 17: type 6 is a floating"),
        "type 7": (body, good[:17] + b"\7" + good[18:], "idx: offset 17: type 7 is a floating"),
        "type 9": (body, good[:17] + b"\x09" + good[18:], "idx: offset 17: type 9"),
        "type 255": (body, good[:17] + b"\xff" + good[18:], "idx: offset 17: type 255"),
        "other width": (body, good[:17] + b"\4" + good[18:], "idx: offset 50: sequence 1 begins"),
        "no sequences": (body, mapped([]), "idx: offset 18: 0 sequences"),
        "sequences": (body, mapped(SIZES, counts=(3, 3)), "offset 82: 3 sequences"),
        "sequences most": (body, mapped(SIZES, counts=(2**64 - 1, 3)), "idx: offset 18: "),
        "sequences wrap": (body, mapped(SIZES, counts=(2**60, 3)), "idx: offset 18: "),
        "borders": (body, mapped(SIZES, counts=(2, 4)), "offset 82: 2 sequences and 4"),
        "no borders": (body, mapped(SIZES, counts=(2, 0)), "idx: offset 26: 0 borders"),
        "borders wrap": (body, mapped(SIZES, counts=(2, 2**61)), "idx: offset 26: "),
        "modes": (body, good + b"\0\0", "one of several modes"),
        "size below 0": (body, mapped([4, -6], places=[0, 8]), "idx: offset 38: sequence 1 has"),
        "size beyond": (body, mapped([4, 7]), "idx: offset 38: sequence 1 of 7 ids ends beyond"),
        "size most": (body, mapped([2**31 - 1, 6]), "idx: offset 34: sequence 0 of 2147483647"),
        "size less": (body, mapped([4, 5]), "bin: offset 18: the sequences of"),
        "bin shorter": (body[:-2], good, "idx: offset 38: sequence 1 of 6 ids ends beyond"),
        "bin half": (body + b"\0", good, "bin: offset 20: the sequences of"),
        "bin empty": (b"", good, "bin: is empty"),
        "place": (body, mapped(SIZES, places=[0, 9]), "idx: offset 50: sequence 1 begins at 9"),
        "places swapped": (body, mapped(SIZES, places=[8, 0]), "idx: offset 42: sequence 0"),
        "place below 0": (body, mapped(SIZES, places=[0, -8]), "idx: offset 50: sequence 1"),
        "place most": (body, mapped(SIZES, places=[0, most]), "idx: offset 50: sequence 1"),
        "border first": (body, mapped(SIZES, borders=[1, 1, 2]), "idx: offset 58: document 0"),
        "border order": (body, mapped(SIZES, borders=[0, 2, 1]), "idx: offset 74: document 2"),
        "border beyond": (body, mapped(SIZES, borders=[0, 1, 3]), "idx: offset 74: document 2"),
        "border below 0": (body, mapped(SIZES, borders=[0, -1, 2]), "idx: offset 66: document 1"),
        "id below 0": (make.packed([1] * 9 + [-1], "h"), mapped(SIZES, code=3),
                       "bin: offset 18: token -1 is below 0"),
        "id of 64 bits": (make.packed([1] * 9 + [2**40], "q"), mapped(SIZES, code=5),
                          "bin: offset 72: token 1099511627776 is beyond"),
        "old version": (body, legacy(SIZES, version=3), "idx: offset 8: version 3"),
        "old type": (body, legacy(SIZES, code=7, width=2), "idx: offset 16: type 7"),
        "old width": (body, legacy(SIZES, width=4), "idx: offset 24: elements of 4 bytes"),
        "old tables": (body, legacy(SIZES, counts=(2, 3, 3)), "idx: offset 40: 3 sizes of 2"),
        "old dimensions": (body, legacy(SIZES, dimensions=[0, 2, 2]), "idx: offset 64: sequence 1"),
        "old place": (body, legacy(SIZES, places=[0, 5, 10]), "idx: offset 88: sequence 1"),
        "old end": (body, legacy(SIZES, places=[0, 4, 11]), "idx: offset 96: the last sequence"),
        "old size": (body, legacy([4, most], places=[0, 4, 10]), "idx: offset 112: sequence 1 of"),
        "old count": (body, legacy(SIZES, counts=(2**62, 2**62, 3)), "idx: offset 32: "),
    }
    for length in (5, 9, 17, 33, 34, 60):
        cases[f"idx cut {length}"] = (body, good[:length], "idx: offset ")
    for length in (7, 8, 55, 56, 100):
        cases[f"old cut {length}"] = (body, old[:length], "idx: offset ")
    return cases


def texts():
    """name -> (content, words of the error)."""
    return {
        "no start": (b"abc\x80def ghi", "offset 3: byte 128 is no UTF-8"),
        "utf16": ("\ufeffabcdef".encode("utf-16-le"),
                  "bad.txt: is a text in UTF-16; convert it: iconv -f UTF-16"),
        "latin1": ("na\u00efve text of old".encode("latin-1"), "offset 2: byte 239 is no UTF-8"),
        "overlong": (b"abcdefgh\xc0\x80", "offset 8: byte 192 is no UTF-8"),
        "surrogate": (b"abcdefgh\xed\xa0\x80", "offset 8: byte 237 is no UTF-8"),
        "beyond unicode": (b"abcdefgh\xf4\x90\x80\x80", "offset 8: byte 244 is no UTF-8"),
        "cut off": (b"abcdefgh\xe2\x82", "offset 8: the last character is cut off"),
        "short": (b"a", "1 token holds no sample of 2"),
    }
