#!/usr/bin/env python3
"""A state saved as PyTorch does it, each time when a line comes on stdin: prints a line of JSON
with the seconds. Needs torch.

usage: torch_checkpoint.py HOW FOLDER BYTES

HOW is save (torch.save and fsync), dcp (torch.distributed.checkpoint, which syncs by itself) or
dcp_async (what its async_save keeps the caller waiting; the rest is waited for outside of it). The
state is BYTES of fp32 in 100 tensors; files go to FOLDER and away again.
"""
import json
import os
import pathlib
import shutil
import sys
import time
import warnings

import torch
import torch.distributed.checkpoint as dcp

TENSORS = 100


def synced(path):
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.close(file)


def save(state, path):
    torch.save(state, path)
    synced(path)


def writer(path):
    return dcp.FileSystemWriter(path, single_file_per_rank=True, sync_files=True, thread_count=2)


def save_distributed(state, path):
    dcp.save(state, storage_writer=writer(path), no_dist=True)


class InBackground:
    """async_save, with the buffers that it copies to kept from save to save."""

    def __init__(self):
        torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0,
                                             world_size=1)
        self.under_way = None

    def begin(self, state, path):
        self.under_way = dcp.async_save(state, storage_writer=writer(path))

    def wait(self):
        self.under_way.result()


def main():
    how, folder, numel = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]) // 4
    warnings.simplefilter("ignore")
    state = {f"tensor{i}": torch.randn(numel // TENSORS) for i in range(TENSORS)}
    background = InBackground() if how == "dcp_async" else None
    work = background.begin if background else {"save": save, "dcp": save_distributed}[how]
    path = folder / f"torch-{how}"
    for _ in sys.stdin:
        begin = time.perf_counter()
        work(state, path)
        seconds = time.perf_counter() - begin
        if background:
            background.wait()
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
