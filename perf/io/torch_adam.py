#!/usr/bin/env python3
"""AdamW on the CPU as PyTorch and DeepSpeed do it for a host optimizer: a bf16 gradient is cast to
fp32, fp32 weights are updated, and cast to bf16. Needs torch; DeepSpeed is measured where it can be
loaded. Prints one JSON line: "all" has the speed of each, beside that of the better one, and
"missing" says why of one that was not measured.

usage: torch_adam.py [--parameters N] [--threads T] [--rounds N]
"""
import argparse
import json
import statistics
import time

import torch


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parameters", type=int, default=100_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    return parser.parse_args()


class Path:
    """One optimizer over `numel` fp32 weights, between casts from and to bf16."""

    def __init__(self, numel, make_optimizer):
        self.weight = torch.nn.Parameter(torch.randn(numel) * 0.02)
        self.weight.grad = torch.zeros(numel)
        self.gradient_in = (torch.randn(numel) * 1e-3).bfloat16()
        self.weight_out = torch.empty(numel, dtype=torch.bfloat16)
        self.optimizer = make_optimizer([self.weight])

    def seconds(self):
        begin = time.perf_counter()
        self.weight.grad.copy_(self.gradient_in)
        self.optimizer.step()
        self.weight_out.copy_(self.weight.data)
        return time.perf_counter() - begin


def optimizers():
    """{name: what makes it from a list of weights}, {name: why it is not among them}."""
    settings = {"lr": 1e-4, "weight_decay": 0.01}
    found = {"torch": lambda weights: torch.optim.AdamW(weights, fused=True, **settings)}
    try:
        from deepspeed.ops.adam import DeepSpeedCPUAdam
        DeepSpeedCPUAdam([torch.nn.Parameter(torch.zeros(8))], **settings)
        found["deepspeed"] = lambda weights: DeepSpeedCPUAdam(weights, **settings)
    except Exception as error:  # of many kinds: it compiles itself when it is first used
        return found, {"deepspeed": str(error)}
    return found, {}


def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    found, missing = optimizers()
    paths = {name: Path(args.parameters, make) for name, make in found.items()}
    seconds = {name: [] for name in paths}
    for turn in range(args.rounds + 2):
        for name, path in paths.items():
            spent = path.seconds()
            seconds[name] += [spent] if turn > 1 else []
    speeds = {name: args.parameters / statistics.median(times) for name, times in seconds.items()}
    best = max(speeds, key=speeds.get)
    print(json.dumps({"parameters_per_s": speeds[best], "which": best, "all": speeds,
                      "missing": missing}))


if __name__ == "__main__":
    main()
