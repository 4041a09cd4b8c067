#!/usr/bin/env python3
"""inputs/t5_mini.toml learns to turn verses of the King James Bible into modern English: after 60
steps the loss of held-out verses is below the entropy of their tokens taken one by one. Campaign
t5_mini trains it to its end. Without the packages of `tools/setup.sh --pairs` it says SKIP."""
import pathlib
import shutil

from answers import Task, unigram_entropy
from program import Program, check

KING_JAMES = pathlib.Path("/usr/share/sword/mods.d/engKJV2006eb.conf")
TRIAL = ("run.steps=60", "scheduler.warmup_num_steps=20", "evaluation.interval=60",
         "run.log_interval=30", "data.max_validation_samples=128")


def main():
    if not (shutil.which("spm_train") and shutil.which("mod2imp") and KING_JAMES.exists()):
        print("SKIP t5_mini: no verses to learn from; tools/setup.sh --pairs installs them")
        return
    task = Task(Program(), "verses")
    entropy = unigram_entropy(task.pairs, 64)
    result = task.train(*TRIAL)
    loss = result.summary["eval_loss"]
    check(loss < entropy, f"{loss:.3f} nats a token, and not below {entropy:.3f}", result)
    print(f"{loss:.3f} nats a token of held-out verses; one by one they have {entropy:.3f}")
    print("verses are learnt")


main()
