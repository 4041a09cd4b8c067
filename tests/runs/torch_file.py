"""pytorch_model.bin as torch.save writes it, in Python alone."""
import collections
import io
import json
import pickle
import struct
import sys
import types
import zipfile

TYPES = {"F32": ("FloatStorage", 4), "F16": ("HalfStorage", 2), "BF16": ("BFloat16Storage", 2)}


def _module(name, **members):
    module = types.ModuleType(name)
    for member, value in members.items():
        value.__module__, value.__qualname__ = name, member
        setattr(module, member, value)
    return module


def _rebuild_tensor_v2():
    """Only its name is written."""


STORAGES = {name: type(name, (), {}) for name, _ in TYPES.values()}
MODULES = {"torch": _module("torch", **STORAGES),
           "torch._utils": _module("torch._utils", _rebuild_tensor_v2=_rebuild_tensor_v2)}


class Storage:
    def __init__(self, dtype, data, key):
        self.type, size = TYPES[dtype]
        self.data, self.key, self.numel = data, str(key), len(data) // size


class Tensor:
    def __init__(self, storage, shape):
        self.storage, self.shape = storage, tuple(shape)

    def __reduce__(self):
        strides, below = [], 1
        for extent in reversed(self.shape):
            strides.insert(0, below)
            below *= extent
        return _rebuild_tensor_v2, (self.storage, 0, self.shape, tuple(strides), False,
                                    collections.OrderedDict())


class _Pickler(pickle.Pickler):
    def persistent_id(self, obj):
        if not isinstance(obj, Storage):
            return None
        return "storage", STORAGES[obj.type], obj.key, "cpu", obj.numel


def _pickled(tensors):
    before = {name: sys.modules.get(name) for name in MODULES}
    sys.modules.update(MODULES)
    try:
        out = io.BytesIO()
        _Pickler(out, 2).dump(tensors)
        return out.getvalue()
    finally:
        for name, module in before.items():
            sys.modules.pop(name)
            if module:
                sys.modules[name] = module


def write(path, pickled, storages=(), method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("pytorch_model/data.pkl", pickled)
        archive.writestr("pytorch_model/byteorder", "little")
        archive.writestr("pytorch_model/version", "3\n")
        for storage in storages:
            archive.writestr(f"pytorch_model/data/{storage.key}", storage.data)


def of_safetensors(source, path, tied=()):
    """Writes the tensors of a safetensors file; `tied` has pairs of a name and a second one."""
    raw = source.read_bytes()
    length, = struct.unpack("<Q", raw[:8])
    storages, tensors = [], collections.OrderedDict()
    for name, row in json.loads(raw[8:8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in row["data_offsets"])
        storages.append(Storage(row["dtype"], raw[begin:end], len(storages)))
        tensors[name] = Tensor(storages[-1], row["shape"])
    for name, second in tied:
        tensors[second] = tensors[name]
    write(path, _pickled(tensors), storages)
