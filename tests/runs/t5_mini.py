#!/usr/bin/env python3
"""inputs/t5_mini.toml learns to turn verses of the King James Bible into modern English: after 45
steps, which take 45 s at most, the loss of held-out verses is below the entropy of their tokens
taken one by one. Campaign t5_mini trains it to its end. Without the packages of `tools/setup.sh
--pairs` it says SKIP."""
from answers import Task, unigram_entropy
from program import Program, check
from verses import can_learn, timed

TRIAL = ("run.steps=45", "scheduler.warmup_num_steps=15", "evaluation.interval=45",
         "run.log_interval=15", "data.max_validation_samples=128")
MOST_SECONDS = 45


def main():
    if not can_learn("t5_mini"):
        return
    task = Task(Program(), "verses")
    entropy = unigram_entropy(task.pairs, 64)
    result, seconds = timed(task.start(*TRIAL), task.wait)
    loss = result.summary["eval_loss"]
    check(loss < entropy, f"{loss:.3f} nats a token, and not below {entropy:.3f}", result)
    check(seconds <= MOST_SECONDS, f"{seconds:.0f} s of training, and not {MOST_SECONDS}", result)
    print(f"{loss:.3f} nats a token of held-out verses after {seconds:.0f} s; one by one they have "
          f"{entropy:.3f}")
    print("verses are learnt")


main()
