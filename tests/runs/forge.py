#!/usr/bin/env python3
"""Checkpoints as an enemy would write them: forge.py FOLDER changes FOLDER/<case>/<file> for every
case of HDF5. Needs h5py, which not every Python of a machine has: runs/hostile.py finds one."""
import json
import os
import pathlib
import struct
import sys
import zipfile

import torch_file

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


def external_link(file, h5py):
    file["model/more"] = h5py.ExternalLink("../../../other.h5", "/secret")


def virtual(file, h5py):
    size = file[NAME].size
    layout = h5py.VirtualLayout((size,), "f4")
    layout[:] = h5py.VirtualSource("../../../other.h5", "secret", shape=(size,))
    del file[NAME]
    file.create_virtual_dataset(NAME, layout)


def filtered(file, h5py):
    remade(file, chunks=(4,), compression="gzip")


def other_type(file, h5py):
    remade(file, dtype="i4")


def other_begin(file, h5py):
    file[NAME].attrs.modify("begin", [5])


def more_data(file, h5py):
    file["optimizer/more"] = [1.0]


def index_elsewhere(file, h5py):
    size = file[NAME].size
    layout = h5py.VirtualLayout((size,), "f4")
    layout[:] = h5py.VirtualSource("../../../other.h5", NAME, shape=(size,))
    del file[NAME]
    file.create_virtual_dataset(NAME, layout, fillvalue=float("nan"))


HUGE = struct.pack("<Q", 2**63 - 8)


def put(raw, at, content):
    raw[at:at + len(content)] = content


def header_of(raw):
    """Where the small dataset's header begins: its address stands behind its name."""
    name = NAME.split("/")[1].encode()
    at = raw.index(name) + len(name)
    return struct.unpack("<Q", raw[at:at + 8])[0]


def in_header(raw, where, skip, content):
    put(raw, raw.index(where, header_of(raw)) + skip, content)


# name: what is done to a rank's file
PATCHED = {
    "no HDF5": lambda raw: put(raw, 0, b"x"),
    "end of the file": lambda raw: put(raw, 28, HUGE),
    "root beyond": lambda raw: put(raw, 36, HUGE),
    "place": lambda raw: in_header(raw, b"\x04\x01", 2, HUGE),
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
                               "xxh3": "0" * 32 if i == 1 else ""}
                              for i in range(1, count)]
    manifest["tensors"] += [{"name": f"model/{i}", "dtype": "fp32", "shape": [1]}
                            for i in range(count)]
    manifest["slices"] += [{"tensor": tensor + i, "file": 1, "begin": 0, "numel": 1,
                            "offset": 4 * i} for i in range(count)]


def facts_with(facts):
    return lambda manifest: manifest["facts"].update(facts)


# name: words of the refusal, what is done to a manifest
MANIFESTS = {
    "a folder above": ("is no rank%05d.h5", named("../" + RANK)),
    "an absolute name": ("is no rank%05d.h5", named(SECRET)),
    "a name with a way": ("is no rank%05d.h5", named(RANK + "/../" + RANK)),
    "a dataset above": ("is no name of a tensor", tensor_with(name="model/../../x")),
    "a slice beyond": ("bytes [", slice_with(offset=2**63 - 1)),
    "a slice of much": ("elements [", slice_with(numel=2**63 - 1)),
    "no such file": ("no such file", slice_with(file=2**31 - 1)),
    "a name of many parts": ("is no name of a tensor",
                             tensor_with(name="model/" + "a/" * 40 + "a")),
    "a tensor in a tensor": ("lies in another tensor",
                             lambda manifest: manifest["tensors"][1].update(
                                 name=manifest["tensors"][0]["name"] + "/b")),
    "a fact of the file": ("is no name", lambda manifest: manifest["facts"].update(step="1")),
    "an overflow": ("too large", tensor_with(shape=[2**62, 4])),
    "many slices": ("slices: ", many_slices),
    "a long file": ("xxh3 of 35184372088832 blocks",
                    lambda manifest: manifest["files"][0].update(bytes=2**63 - 1)),
    "other digests": ("hexadecimal digits", lambda manifest: manifest["files"][0].update(xxh3="1")),
    "more ranks than files": ("ranks: 3, but there are files of 1",
                              lambda manifest: manifest.update(ranks=3)),
    "a report of another step": ('fact "state.report.step": 1 in a checkpoint of step 2',
                                 facts_with({"state.report.step": "1"})),
    "updates beyond the step": ('fact "state.updates": 3 updates in 2 steps',
                                facts_with({"state.updates": "3"})),
    "skips beyond the step": ('fact "state.skipped_in_row": 1 in a row beside 2 updates',
                              facts_with({"state.skipped_in_row": "1"})),
    "a power of no update": ('fact "state.beta1_power": 1 after 2 updates',
                             facts_with({"state.beta1_power": "0x1p+0"})),
    "the best of a later step": ('fact "best.step": 3 in a checkpoint of step 2',
                                 facts_with({"best.step": "3"})),
}


def described_with(**numbers):
    """The fact that says which model it is, with other numbers."""
    def change(manifest):
        model = json.loads(manifest["facts"]["model"])
        model.update(numbers)
        manifest["facts"]["model"] = json.dumps(model)
    return change


# name: words of the refusal, what is done to a manifest; a resume names the run that it is of
DESCRIPTIONS = {
    "other heads": ("with 2 heads", described_with(n_head=2)),
    "other layers": ("of 3 layers", described_with(n_layer=3)),
    "another epsilon": ("epsilon", described_with(layer_norm_epsilon=0.5)),
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


def pickled_as(text, method=zipfile.ZIP_STORED):
    """A pytorch_model.bin around this pickle in place of model.safetensors."""
    def change(place):
        (place / "model.safetensors").unlink()
        torch_file.write(place / "pytorch_model.bin", text, method=method)
    return change


def cut_to(size):
    def change(place):
        pickled_as(b"\x80\x02}.")(place)
        os.truncate(place / "pytorch_model.bin", size)
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
    "a program": ('calls "os.system"', pickled_as(b"cos\nsystem\n(X\4\0\0\0exittR.")),
    "evaluated": ('calls "builtins.eval"', pickled_as(b"\x80\2cbuiltins\neval\n.")),
    "many memos": ("another kind", pickled_as(b"\x80\2)q\1" + b"h\1h\1\x86q\1" * 40000 + b".")),
    "many values": ("values at once", pickled_as(b"\x80\2" + b"(" * (7 << 20))),
    "a long pickle": ("bytes, at most 8388608", pickled_as(b"(" * (9 << 20))),
    "compressed": ("is compressed", pickled_as(b"(" * 100, zipfile.ZIP_DEFLATED)),
    "a cut archive": ("no zip directory ends the file", cut_to(90)),
    "a sparse archive": ("no zip directory ends the file", cut_to(1 << 40)),
}

# name: file, what is done to it in h5py's hands
OPENED = {
    "external storage": (RANK, external_storage),
    "soft link": (RANK, soft_link),
    "external link": (RANK, external_link),
    "virtual": (RANK, virtual),
    "filtered": (RANK, filtered),
    "other type": (RANK, other_type),
    "other begin": (RANK, other_begin),
    "more data": (RANK, more_data),
    "index elsewhere": (INDEX, index_elsewhere),
    "index link": (INDEX, external_link),
    "index storage": (INDEX, external_storage),
}


def main():
    import h5py
    folder = pathlib.Path(sys.argv[1])
    for case, (name, forge) in OPENED.items():
        path = next((folder / case).glob("step*")) / name
        with h5py.File(path, "r+", libver=("v110", "v110")) as file:
            forge(file, h5py)


if __name__ == "__main__":
    main()
