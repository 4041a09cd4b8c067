#!/usr/bin/env python3
"""Makes the seeds of the fuzz target `structure`: make_structure_seeds.py FOLDER. A seed is the
members of a manifest, a zero, and one HDF5 file as the program writes them, without the large
blocks of structure that make its own files longer than a fuzzer likes. Needs h5py."""
import json
import pathlib
import sys

import h5py
from h5py import h5d, h5p, h5s, h5t

FLOATS = {"fp32": (h5t.IEEE_F32LE, 4), "fp16": (h5t.IEEE_F16LE, 2)}
WAY = h5p.create(h5p.LINK_CREATE)
WAY.set_create_intermediate_group(True)
FILE = {"libver": ("v110", "v110"), "fs_strategy": "aggregate", "fs_persist": False,
        "fs_threshold": 1}


def entry(name):
    return {"name": name, "bytes": 1, "crc32c": "00000000", "xxh3": "0" * 32}


def seed(tensors, slices, files, path):
    manifest = {"format_version": 1, "step": 1, "ranks": 2, "facts": {}, "tensors": tensors,
                "slices": slices, "files": files}
    return json.dumps(manifest)[:-1].encode() + b"\0" + path.read_bytes()


def rank_file(path, tensors):
    """Every tensor whole; returns the places of their elements."""
    offsets = []
    with h5py.File(path, "w", **FILE) as file:
        for tensor in tensors:
            kind, size = FLOATS[tensor["dtype"]]
            numel = 1
            for extent in tensor["shape"]:
                numel *= extent
            creation = h5p.create(h5p.DATASET_CREATE)
            creation.set_layout(h5d.CONTIGUOUS)
            creation.set_alloc_time(h5d.ALLOC_TIME_EARLY)
            creation.set_fill_time(h5d.FILL_TIME_NEVER)
            data = h5py.Dataset(h5d.create(file.id, tensor["name"].encode(), kind,
                                           h5s.create_simple((numel,)), creation, WAY))
            data.attrs.create("begin", [0], dtype="i8")
            data.attrs.create("shape", tensor["shape"], dtype="i8")
            offsets.append((data.id.get_offset(), numel, numel * size))
    return offsets


def rank_seed(place, count):
    tensors = [{"name": f"model/h.{i}.w", "dtype": "fp16" if i % 2 else "fp32", "shape": [1, 2]}
               for i in range(count)]
    path = place / "rank.h5"
    offsets = rank_file(path, tensors)
    slices = [{"tensor": i, "file": 0, "begin": 0, "numel": numel, "offset": offset}
              for i, (offset, numel, _) in enumerate(offsets)]
    file = dict(entry("rank00000.h5"), bytes=path.stat().st_size)
    (place / f"rank_of_{count}").write_bytes(seed(tensors, slices, [file], path))
    path.unlink()


def index_seed(place):
    """A matrix of 5 x 7 cut after 17 elements."""
    path = place / "index.h5"
    parts = ((0, "model/w", 0, 17), (1, "model/w@17", 17, 18))
    with h5py.File(path, "w", **FILE) as file:
        layout = h5py.VirtualLayout((5, 7), "f4")
        for rank, name, begin, numel in parts:
            source = h5py.VirtualSource(f"rank0000{rank}.h5", name, shape=(numel,))
            at = begin
            while at < begin + numel:
                row, column = divmod(at, 7)
                rows = (begin + numel - at) // 7 if column == 0 else 0
                count = 7 * rows if rows else min(7 - column, begin + numel - at)
                part = source[at - begin:at - begin + count]
                if rows:
                    layout[row:row + rows, :] = part
                else:
                    layout[row, column:column + count] = part
                at += count
        file.create_virtual_dataset("model/w", layout, fillvalue=float("nan"))
        for i in range(10):
            file.require_group("state").attrs[f"fact {i}"] = "of the run"
        file.create_dataset("config", data=b"text", dtype="S4")
    tensors = [{"name": "model/w", "dtype": "fp32", "shape": [5, 7]}]
    slices = [{"tensor": 0, "file": rank, "begin": begin, "numel": numel, "offset": 100}
              for rank, _, begin, numel in parts]
    files = [dict(entry("rank00000.h5"), bytes=1000), dict(entry("rank00001.h5"), bytes=1000),
             entry("checkpoint.h5")]
    (place / "index").write_bytes(seed(tensors, slices, files, path))
    path.unlink()


def main():
    place = pathlib.Path(sys.argv[1])
    for count in (2, 60):
        rank_seed(place, count)
    index_seed(place)


main()
