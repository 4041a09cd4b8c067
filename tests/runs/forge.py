#!/usr/bin/env python3
"""Checkpoints as an enemy would write them: forge.py FOLDER changes FOLDER/<case>/<file> for every
case of HDF5. Needs h5py, which not every Python of a machine has: runs/hostile.py finds one."""
import json
import pathlib
import struct
import sys

RANK, INDEX = "rank00000.h5", "checkpoint.h5"
NAME = "model/transformer.ln_f.weight"  # a small dataset
SECRET = "/etc/passwd"


def remade(file, **others):
    """The small dataset anew, with the same shape and attributes."""
    old = file[NAME]
    shape, dtype, attributes = old.shape, old.dtype, dict(old.attrs)
    del file[NAME]
    made = file.create_dataset(NAME, **dict({"shape": shape, "dtype": dtype}, **others))
    for key, value in attributes.items():
        made.attrs.create(key, value, dtype="i8")


def external_storage(file, h5py):
    remade(file, external=[(SECRET, 0, 4 * file[NAME].size)])


def soft_link(file, h5py):
    file["model/more"] = h5py.SoftLink("/" + NAME)


def soft_for_a_dataset(file, h5py):
    file.move(NAME, "moved")
    file[NAME] = h5py.SoftLink("/moved")


def external_link(file, h5py):
    file["model/more"] = h5py.ExternalLink("../../../other.h5", "/secret")


def virtual(file, h5py):
    size = file[NAME].size
    layout = h5py.VirtualLayout((size,), "f4")
    layout[:] = h5py.VirtualSource("../../../other.h5", "secret", shape=(size,))
    del file[NAME]
    file.create_virtual_dataset(NAME, layout)


def chunked(file, h5py):
    remade(file, chunks=(4,))


def filtered(file, h5py):
    remade(file, chunks=(4,), compression="gzip")


def compact(file, h5py):
    size = file[NAME].size
    del file[NAME]
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_layout(h5py.h5d.COMPACT)
    h5py.h5d.create(file.id, NAME.encode(), h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((size,)),
                    creation)


def other_shape(file, h5py):
    remade(file, shape=(1 << 40,))


def other_type(file, h5py):
    remade(file, dtype="i4")


def variable_type(file, h5py):
    remade(file, dtype=h5py.string_dtype())


def committed_type(file, h5py):
    import numpy
    file["kind"] = numpy.dtype("f4")
    remade(file, dtype=file["kind"])


def other_begin(file, h5py):
    file[NAME].attrs.modify("begin", [5])


def more_attributes(file, h5py):
    for i in range(20):
        file[NAME].attrs[f"more{i}"] = "x" * 1000


def more_data(file, h5py):
    file["optimizer/more"] = [1.0]


def fewer_data(file, h5py):
    del file[NAME]


def many_groups(file, h5py):
    for i in range(20000):
        file.create_group(f"model/{i}")


def deep_groups(file, h5py):
    group = file["model"]
    for _ in range(2000):
        group = group.create_group("a")


def circle(file, h5py):
    file["model/model"] = file["model"]


def twice(file, h5py):
    file["model/more"] = file[NAME]


def index_elsewhere(file, h5py):
    remade_virtual(file, h5py, "../../../other.h5")


def index_absolute(file, h5py):
    remade_virtual(file, h5py, SECRET)


def remade_virtual(file, h5py, source):
    size = file[NAME].size
    layout = h5py.VirtualLayout((size,), "f4")
    layout[:] = h5py.VirtualSource(source, NAME, shape=(size,))
    del file[NAME]
    file.create_virtual_dataset(NAME, layout, fillvalue=float("nan"))


HUGE = struct.pack("<Q", 2**63 - 8)


def put(raw, at, content):
    raw[at:at + len(content)] = content


def behind(raw, where, skip, content):
    """Puts content `skip` bytes behind the beginning of the first place that holds `where`."""
    put(raw, raw.index(where) + skip, content)


def header_of(raw):
    """Where the small dataset's header begins: its address stands behind its name."""
    name = NAME.split("/")[1].encode()
    at = raw.index(name) + len(name)
    return struct.unpack("<Q", raw[at:at + 8])[0]


def in_header(raw, where, skip, content):
    put(raw, raw.index(where, header_of(raw)) + skip, content)


# name: words of the refusal, what is done to a rank's file
PATCHED = {
    "no HDF5": ("is no HDF5 file", lambda raw: put(raw, 0, b"x")),
    "end of the file": ("the end of the file is", lambda raw: put(raw, 28, HUGE)),
    "base address": ("the base address is", lambda raw: put(raw, 12, HUGE)),
    "root beyond": ("are not all in the file", lambda raw: put(raw, 36, HUGE)),
    "root elsewhere": ("does not begin with OHDR", lambda raw: put(raw, 36, struct.pack("<Q", 8))),
    "no header": ("does not begin with OHDR", lambda raw: put(raw, header_of(raw), b"X")),
    "old header": ("version of the header", lambda raw: put(raw, header_of(raw) + 4, b"\x01")),
    "shape": ("an extent is", lambda raw: in_header(raw, b"\x02\x01\x01\x01", 4, HUGE)),
    "place": ("the place of its elements", lambda raw: in_header(raw, b"\x04\x01", 2, HUGE)),
    "length": ("the number of its bytes", lambda raw: in_header(raw, b"\x04\x01", 10, HUGE)),
    "heap beyond": ("in the file", lambda raw: behind(raw, b"FRHP", 132, HUGE)),
    "heap of itself": ("FHIB", lambda raw: behind(raw, b"FRHP", 132, struct.pack(
        "<QH", raw.index(b"FRHP"), 21))),
    "tree beyond": ("not all in the file", lambda raw: behind(raw, b"BTHD", 16, HUGE)),
    "tree of itself": ("BTLF", lambda raw: behind(raw, b"BTHD", 16, struct.pack(
        "<Q", raw.index(b"BTHD")))),
    "deep tree": ("65535 deep", lambda raw: behind(raw, b"BTHD", 12, b"\xff\xff")),
    "many records": ("too early", lambda raw: behind(raw, b"BTHD", 24, b"\xff\xff")),
}


def named(name):
    def change(manifest):
        manifest["files"][0]["name"] = name
    return change


def slice_with(**members):
    def change(manifest):
        manifest["slices"][0].update(members)
    return change


def tensor_with(**members):
    def change(manifest):
        manifest["tensors"][0].update(members)
    return change


def many_slices(manifest):
    manifest["slices"] += manifest["slices"][-1:] * 100000


def much_of_all(manifest, count=20000):
    """Tensors of one element each in a file that is not there, and as many more such files."""
    tensor = len(manifest["tensors"])
    manifest["ranks"] = count
    # In front of the index.
    manifest["files"][1:1] = [{"name": f"rank{i:05d}.h5", "bytes": 4 * count if i == 1 else 0,
                               "crc32c": "00000001" if i == 1 else "", "xxh3": "0" * 32}
                              for i in range(1, count)]
    manifest["tensors"] += [{"name": f"model/{i}", "dtype": "fp32", "shape": [1]}
                            for i in range(count)]
    manifest["slices"] += [{"tensor": tensor + i, "file": 1, "begin": 0, "numel": 1,
                            "offset": 4 * i} for i in range(count)]


# name: words of the refusal, what is done to a manifest
MANIFESTS = {
    "a folder above": ("is no rank%05d.h5", named("../" + RANK)),
    "an absolute name": ("is no rank%05d.h5", named(SECRET)),
    "a name with a way": ("is no rank%05d.h5", named(RANK + "/../" + RANK)),
    "a dataset above": ("is no name of a tensor", tensor_with(name="model/../../x")),
    "a slice beyond": ("bytes [", slice_with(offset=2**63 - 1)),
    "a slice of much": ("elements [", slice_with(numel=2**63 - 1)),
    "no such file": ("no such file", slice_with(file=2**31 - 1)),
    "an overflow": ("too large", tensor_with(shape=[2**62, 4])),
    "many slices": ("slices: ", many_slices),
    "a long file": ("digests of 35184372088832 blocks",
                    lambda manifest: manifest["files"][0].update(bytes=2**63 - 1)),
    "other digests": ("eight digits", lambda manifest: manifest["files"][0].update(crc32c="1")),
}


def weights_with(header, length=None):
    """A file with this header, which says another length of itself."""
    def change(place):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        (place / "model.safetensors").write_bytes(
            struct.pack("<Q", len(text) if length is None else length) + text)
    return change


def cut_into(name):
    def change(place):
        (place / "model.safetensors").unlink()
        index = {"metadata": {}, "weight_map": {"transformer.wte.weight": name}}
        (place / "model.safetensors.index.json").write_text(json.dumps(index))
    return change


def tensor(**members):
    return {"a": dict({"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, **members)}


# name: words of the refusal, what is done to a model's folder
MODELS = {
    "header beyond": ("model.safetensors", weights_with({}, 2**63 - 1)),
    "header of 2^64": ("model.safetensors", weights_with({}, 2**64 - 1)),
    "large header": ("model.safetensors", weights_with(b" " * (17 << 20))),
    "deep header": ("model.safetensors", weights_with(b'{"a":' + b"[" * 1000000)),
    "offsets beyond": ("model.safetensors", weights_with(tensor(data_offsets=[0, 2**62]))),
    "shape overflows": ("model.safetensors", weights_with(tensor(shape=[2**62, 16]))),
    "model above": ("index.json", cut_into("../../text.txt")),
    "model absolute": ("index.json", cut_into(SECRET)),
}

# name: file, words of the refusal, what is done to the file in h5py's hands
OPENED = {
    "external storage": (RANK, "/" + NAME + ": has elements in external files", external_storage),
    "soft link": (RANK, "/model: link \"more\" is a soft one", soft_link),
    "soft for a dataset": (RANK, "is a soft one", soft_for_a_dataset),
    "external link": (RANK, "/model: link \"more\" is into another file", external_link),
    "virtual": (RANK, "is virtual, and must be contiguous", virtual),
    "chunked": (RANK, "is chunked, and must be contiguous", chunked),
    "filtered": (RANK, "has filtered elements", filtered),
    "compact": (RANK, "is compact, and must be contiguous", compact),
    "other shape": (RANK, "an extent is 1099511627776", other_shape),
    "other type": (RANK, "is of another type", other_type),
    "variable type": (RANK, "is of another type", variable_type),
    "committed type": (RANK, "message 3 is a shared one", committed_type),
    "other begin": (RANK, "a number of an attribute is 5", other_begin),
    "more attributes": (RANK, "attribute", more_attributes),
    "more data": (RANK, "/optimizer/more: is not of this checkpoint", more_data),
    "fewer data": (RANK, "/" + NAME + ": is not there", fewer_data),
    "many groups": (RANK, "/model: holds more than", many_groups),
    "deep groups": (RANK, "/model/a: is not of this checkpoint", deep_groups),
    "circle": (RANK, "/model", circle),
    "twice": (RANK, "", twice),
    "index elsewhere": (INDEX, "looks elsewhere than in rank00000.h5", index_elsewhere),
    "index absolute": (INDEX, "looks elsewhere than in rank00000.h5", index_absolute),
    "index link": (INDEX, "is into another file", external_link),
    "index storage": (INDEX, "elements in external files", external_storage),
}


def main():
    import h5py
    folder = pathlib.Path(sys.argv[1])
    for case, (name, _, forge) in OPENED.items():
        path = next((folder / case).glob("step*")) / name
        with h5py.File(path, "r+", libver=("v110", "v110")) as file:
            forge(file, h5py)


if __name__ == "__main__":
    main()
