#!/usr/bin/env python3
"""Refused plans, for want of a device's memory: the change that is printed makes the plan fit, and
no part of it does. Then the two models of DeepSpeed's ZeRO tutorial: which stages fit their
machines; and GPT-2 XL on one card, with offload and without. CHANGES=all in the environment: every
model, kind of training and number of ranks with every share of its need, not with each second."""
import itertools
import json
import os
import pathlib
import time

from program import Program, advised_change, check, check_refused

MODELS = {
    "small": ("model.layers=4", "model.width=128", "model.heads=4"),
    "wide": ("model.layers=2", "model.width=512", "model.heads=8"),
    "deep": ("model.layers=8", "model.width=128", "model.heads=4"),
}
KINDS = {
    "fp32": (),
    "bf16": ("bf16.enabled=true",),
    "fp16": ("fp16.enabled=true",),
    "LAMB": ("bf16.enabled=true", "optimizer.type=LAMB"),
}
RANKS = (1, 2, 4)
SHARES = (0.95, 0.8, 0.65, 0.5)  # of what the plan needs
SAMPLES, MICRO_BATCH = 32, 8
MICRO, ACCUMULATION = "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"
EVALUATION, RECOMPUTE = "evaluation.micro_batch_size", "activation_checkpointing.recompute"
INPUTS = pathlib.Path(__file__).resolve().parents[2] / "inputs"
PLAN_SECONDS = 5
OPTIMIZER, PARAMETERS = "zero.offload_optimizer", "zero.offload_param"
BUFFERS, RATIO = f"{OPTIMIZER}.buffer_count", f"{OPTIMIZER}.ratio"


class Plan:
    """The answer of `zeroapp plan` to one question, which is asked once; of equal keys the last
    counts. On a machine that is named a node has its ranks unless `node_ranks` says others."""
    answers = {}
    input, machine = "tiny.toml", None

    def __init__(self, program, settings, ranks, node_ranks=None):
        unique = {setting.split("=")[0]: setting for setting in settings}
        if node_ranks is None and not self.machine:
            node_ranks = ranks
        nodes = ("--ranks-per-node", str(node_ranks)) if node_ranks else ()
        machine = ("--machine", self.machine) if self.machine else ()
        words = ("plan", self.input, "--json", "--ranks", str(ranks), *nodes, *machine,
                 *unique.values())
        if words not in self.answers:
            self.answers[words] = program.alone(*words)
        result = self.answers[words]
        self.status, self.result = result.status, result
        self.bytes = self.host_bytes = None
        if result.out.startswith("{"):
            plan = json.loads(result.out)
            self.bytes = plan["arena_bytes"]
            self.host_bytes = plan["tiers"]["host"]["arena_bytes"] + plan["checkpoint_copy_bytes"]

    def change(self):
        """The settings and ranks of the printed change; None if nothing fits."""
        words = self.change_words()
        if words is None:
            return None
        ranks = int(words[words.index("--ranks") + 1]) if "--ranks" in words else None
        return [word for word in words if "=" in word], ranks

    def change_words(self):
        return advised_change(self.result)

    def node_ranks(self, ranks):
        """As the printed change says, or else as a plan of so many ranks was asked for."""
        words = self.change_words()
        if "--ranks-per-node" in words:
            return int(words[words.index("--ranks-per-node") + 1])
        return None if self.machine else ranks


def parts_of(keys, ranks):
    """The change without one of its settings, and without what this one goes with: the samples of
    a micro-batch, the folder of a disk, or the stage that a key is of."""
    groups = []
    for key in keys:
        together = (key.startswith((ACCUMULATION, EVALUATION)) or ".nvme_path=" in key) and groups
        groups[-1].append(key) if together else groups.append([key])
    for left_out in groups:
        gone = left_out[0].startswith("zero.stage=")
        yield [key for group in groups if group is not left_out for key in group
               if not (gone and key.startswith(("zero.stage3_", "zero.offload_")))], ranks
    if ranks:
        yield keys, None


def weaker_homes(change):
    """In host memory what is to be on disk; a buffer more, a part less on the device."""
    for section in (OPTIMIZER, PARAMETERS):
        if change.get(f"{section}.device") == "nvme":
            yield {**change, f"{section}.device": "cpu", f"{section}.nvme_path": ""}
    if BUFFERS in change:
        yield {**change, BUFFERS: int(change[BUFFERS]) + 1}
    if float(change.get(RATIO, 1)) < 31 / 32:
        yield {**change, RATIO: float(change[RATIO]) + 1 / 32}


def weaker_forms(keys, ranks, present_ranks):
    """The change with one of its settings a notch weaker but still there, so that a change of a
    single setting has a half as well."""
    change = dict(key.split("=") for key in keys)
    micro, stage = int(change.get(MICRO, MICRO_BATCH)), int(change.get("zero.stage", 0))
    forms = list(weaker_homes(change))
    if 2 * micro < MICRO_BATCH:
        sizes = {MICRO: 2 * micro, EVALUATION: 2 * micro,
                 ACCUMULATION: int(change.get(ACCUMULATION, 0)) // 2}
        forms.append({**change, **{key: size for key, size in sizes.items() if key in change}})
    if change.get(RECOMPUTE) == "full":
        forms.append({**change, RECOMPUTE: "selective"})
    if stage > 1:
        lower = {key: value for key, value in change.items()
                 if not key.startswith(("zero.stage3_", "zero.offload_param"))}
        forms.append({**lower, "zero.stage": stage - 1})
    for form in forms:
        yield [f"{key}={value}" for key, value in form.items()], ranks
    if ranks and ranks // 2 > present_ranks:
        yield keys, ranks // 2


def check_refusal(program, settings, ranks):
    """How many weaker forms of the change were judged; None if no change was offered."""
    refused = Plan(program, settings, ranks)
    check(refused.status == 6, f"{settings} on {ranks} ranks is refused", refused.result)
    change = refused.change()
    if change is None:
        return None
    keys, more_ranks = change
    node_ranks = refused.node_ranks(ranks)
    fitting = Plan(program, [*settings, *keys], more_ranks or ranks, node_ranks)
    check(fitting.status == 0, f"{settings} on {ranks}: {change} fits", fitting.result)

    weaker = list(weaker_forms(keys, more_ranks, ranks))
    for part, part_ranks in [*parts_of(keys, more_ranks), *weaker]:
        if not part and not part_ranks:
            continue  # the refused plan itself
        half = Plan(program, [*settings, *part], part_ranks or ranks,
                    node_ranks if part_ranks else None)
        check(half.status == 6, f"{settings} on {ranks}: of {change}, {part} on "
              f"{part_ranks or ranks} ranks does not fit", half.result)
    return len(weaker)


def tutorial_plan(program, name, ranks, *settings):
    begin = time.monotonic()
    result = program.alone("plan", str(INPUTS / f"{name}.toml"), "--machine", "v100_32g",
                           "--ranks", str(ranks), *settings)
    return result, time.monotonic() - begin


def check_tutorial(program):
    for stage in (0, 1):
        refused, _ = tutorial_plan(program, "gpt2_10b", 32, f"zero.stage={stage}")
        check(refused.status == 6, f"10 B at stage {stage} on 32 V100 is refused", refused)
    fitting, seconds = tutorial_plan(program, "gpt2_10b", 32, "zero.stage=2",
                                     "activation_checkpointing.recompute=full")
    check(fitting.status == 0, "10 B at stage 2 with recompute fits 32 V100", fitting)
    check("10279239680 parameters" in fitting.out, "of the published size", fitting)
    check(seconds <= PLAN_SECONDS, f"its plan takes {seconds:.1f} s, at most {PLAN_SECONDS}")
    fitting, _ = tutorial_plan(program, "gpt2_1.5b", 8, "zero.stage=1")
    check(fitting.status == 0, "1.5 B at stage 1 fits 8 V100", fitting)


def check_offload_recipe(program):
    """GPT-2 XL on a card of 24 GB: with both homes at batch 16, without any not even at 1."""
    plan = ("plan", str(INPUTS / "gpt2_xl_zero3_offload.toml"), "--machine", "titan_rtx_24g",
            "--ranks", "1", "--json")
    fitting = program.alone(*plan)
    check(fitting.status == 0, "with both homes in host memory batch 16 fits", fitting)
    refused = program.alone(*plan, f"{MICRO}=1", "zero.offload_optimizer.device=none",
                            "zero.offload_param.device=none")
    check_refused(refused, 6, "machine titan_rtx_24g", "less 512.00 MiB for context and libraries",
                  "cheapest change that fits: ")
    planned = [json.loads(result.out) for result in (fitting, refused)]
    check([plan["batch"]["train"] for plan in planned] == [16, 1], "as it was asked for", refused)
    shares = [plan["arena_bytes"] / plan["limit_bytes"] for plan in planned]
    print(f"GPT-2 XL on 24 GB: {shares[0]:.0%} with offload, {shares[1]:.1%} without")


def batch(model, ranks):
    """Where the accumulation is said, a change of the micro-batch must say another."""
    yield f"train_batch_size={SAMPLES}"
    yield f"{MICRO}={MICRO_BATCH}"
    if model == "deep":
        yield f"{ACCUMULATION}={SAMPLES // MICRO_BATCH // ranks}"


def cases():
    """(model, kind, ranks, shares): all shares, or two that go round, so that any two values of
    model, kind, ranks and share still meet."""
    everywhere = os.environ.get("CHANGES") == "all"
    numbered = itertools.product(enumerate(MODELS), enumerate(KINDS), enumerate(RANKS))
    for (i, model), (j, kind), (k, ranks) in numbered:
        yield model, kind, ranks, SHARES if everywhere else SHARES[(i + j + k + 1) % 2::2]


def main():
    program = Program()
    check_tutorial(program)
    check_offload_recipe(program)
    judged = []
    for model, kind, ranks, shares in cases():
        settings = [*batch(model, ranks), *MODELS[model], *KINDS[kind], "run.threads=1"]
        need = Plan(program, settings, ranks).bytes
        check(need, f"{model}, {kind}, {ranks} ranks has a plan")
        for share in shares:
            limit = f"memory.device_limit={int(need * share)}"
            judged.append(check_refusal(program, [*settings, limit], ranks))
    offered = sum(forms is not None for forms in judged)
    halved = sum(bool(forms) for forms in judged)
    count = len(judged)
    check(count >= 72 and 6 * offered >= 5 * count and 5 * halved >= 2 * count,
          f"{count} refusals, {offered} with a change, {halved} of them with a weaker form")
    print(f"{count} refusals, {offered} with a change that fits and no part of which does; "
          f"nor does a weaker form of {halved} of them")


if __name__ == "__main__":
    main()
