#!/usr/bin/env python3
"""Files of torch.save that a reader of weights meets.

usage: torch_golden.py [OUTDIR]      writes *.bin, into tests/golden/torch by default
Needs torch (CPU) in any Python environment; the tests need none. Made with torch 2.15.0.

types.bin: fp32, fp16, bf16 and int64, a tied tensor, a transposed one and a slice of columns, a
parameter, a number and an empty tensor. module.bin: the state_dict of a small network, with the
versions of its modules. large_keys.bin: 1,100 tensors, which pickle writes in two batches and with
long memo indices. legacy.bin: as PyTorch before 1.6 wrote types.bin. protocol_4.bin: in a newer
form of pickle. sequence.bin: a list of tensors.
"""
import collections
import pathlib
import sys

import torch


def ramp(count, dtype=torch.float32):
    """0, 1, 2, ..., of which each dtype holds the first 256."""
    return torch.arange(count).to(dtype)


def types():
    tied = ramp(6).reshape(2, 3)
    table = ramp(12).reshape(3, 4)
    return collections.OrderedDict(
        fp32=tied, tied=tied, row=tied[1], fp16=ramp(4, torch.float16),
        bf16=ramp(4, torch.bfloat16), transposed=table.t(), columns=table[:, 1:3],
        parameter=torch.nn.Parameter(ramp(2)), number=torch.tensor(3.0),
        ids=ramp(3, torch.int64), empty=torch.empty(0, 2))


def main():
    tree = pathlib.Path(__file__).resolve().parents[2]
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else tree / "tests/golden/torch"
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    torch.save(types(), out / "types.bin")
    network = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.LayerNorm(2))
    network[0].weight.data = ramp(6).reshape(2, 3)
    torch.save(network.state_dict(), out / "module.bin")
    one = ramp(1)
    torch.save({f"h.{i}": one for i in range(1100)}, out / "large_keys.bin")
    torch.save(types(), out / "legacy.bin", _use_new_zipfile_serialization=False)
    torch.save(types(), out / "protocol_4.bin", pickle_protocol=4)
    torch.save([one], out / "sequence.bin")


if __name__ == "__main__":
    main()
