"""Files of tensors, read without a library for them."""
import json
import struct


def safetensors(path):
    """(type, shape, bytes) of each tensor, by name."""
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    header.pop("__metadata__")
    data = raw[8 + length:]
    return {name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])])
            for name, entry in header.items()}
