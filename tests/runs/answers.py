#!/usr/bin/env python3
"""What inputs/t5_mini.toml answers after a whole training on two ranks at stage 3, TASK being

  verses    held-out verses of the King James Bible in modern English: twice the BLEU of answering
            with the training verse that shares the most words; that figure and copying's are told
  spelling  held-out phrases in a spelling of about 1600: eight in ten right to the letter, where
            copying is right in less than three

usage: answers.py ZEROAPP MPIEXEC TASK [key=value ...]    what it trained stays in build/long/TASK
A training takes at most twenty minutes of two cores. Needs what tools/setup.sh --pairs installs.
"""
import collections
import json
import math
import pathlib
import re
import subprocess
import sys
import time

from program import Program, check

TREE = pathlib.Path(__file__).resolve().parents[2]
MOST_SECONDS = 20 * 60
WORD = re.compile(r"[\w']+")
PIECES = ("--pieces", "2000")
# Each: what makes the pairs, and what is written beside inputs/t5_mini.toml.
TASKS = {
    "verses": (("tools/data/verse_pairs.py", *PIECES), ()),
    "spelling": (("tools/data/spelling_pairs.py", *PIECES),
                 ("data.source_length=24", "data.target_length=24", "train_batch_size=128",
                  "train_micro_batch_size_per_gpu=64")),
}


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()


def words_of(text):
    return set(WORD.findall(text.lower()))


def nearest(sources, asked):
    """For each text asked the place of the source that shares the most words with it, and of
    several that of the fewest words."""
    holders = collections.defaultdict(list)
    sizes = []
    for place, source in enumerate(sources):
        words = words_of(source)
        sizes.append(len(words))
        for word in words:
            holders[word].append(place)
    for text in asked:
        shared = collections.Counter()
        for word in words_of(text):
            shared.update(holders.get(word, ()))
        yield max(shared, key=lambda place: (shared[place], -sizes[place]), default=0)


def unigram_entropy(pairs, length):
    """Nats a token of the held-out targets, each with its end, by their own frequencies: no model
    is better that does not look at what stands before."""
    ids = subprocess.run(["spm_encode", f"--model={pairs}/pieces/spiece.model",
                          "--output_format=id", pairs / "val.target"],
                         capture_output=True, text=True, check=True).stdout
    counts = collections.Counter()
    for line in ids.splitlines():
        counts.update(line.split()[:length - 1] + ["end"])
    total = sum(counts.values())
    return -sum(count / total * math.log(count / total) for count in counts.values())


class Task:
    """The pairs of a task in the program's folder, and how texts score against its targets."""

    def __init__(self, program, name):
        self.program = program
        self.pairs = program.folder / "data" / name
        maker, self.settings = TASKS[name]
        subprocess.run([sys.executable, "-B", TREE / maker[0], self.pairs, *maker[1:]], check=True)
        self.settings += (f"data.train=data/{name}/train.source", "run.output=runs/" + name,
                          f"data.validation=data/{name}/val.source",
                          f"data.tokenizer=data/{name}/pieces")
        self.name = name

    def start(self, *more):
        """A training by inputs/t5_mini.toml with these changes, on two ranks."""
        return self.program.start(2, *self.settings, *more,
                                  input_file=str(TREE / "inputs/t5_mini.toml"))

    def wait(self, process):
        result = self.program.wait(process, run=self.name, timeout=3 * MOST_SECONDS)
        check(result.finished(), f"{self.name} is trained", result)
        return result

    def train(self, *more):
        return self.wait(self.start(*more))

    def keep(self, result, facts):
        """For zeroapp report, which draws doc/t5_mini.svg."""
        folder = TREE / "build/long" / self.name
        folder.mkdir(parents=True, exist_ok=True)
        folder.joinpath("facts.json").write_text(json.dumps(facts) + "\n")
        for name in ("metrics.jsonl", "evaluations.jsonl", "summary.json"):
            kept = self.program.folder / "runs" / self.name / name
            folder.joinpath(name).write_bytes(kept.read_bytes())

    def answers(self):
        """The model's answers to all held-out sources, one a line."""
        answered = self.program.folder / "answers"
        result = self.program.alone("generate", f"runs/{self.name}/model", "--input",
                                    self.pairs / "val.source", "--output", answered, "--batch",
                                    "32", "--max-length", "96")
        check(result.status == 0, f"{self.name} answers", result)
        return lines_of(answered)

    def score(self, texts):
        self.program.write("texts", "".join(text + "\n" for text in texts))
        result = self.program.alone("score", "texts", self.pairs / "val.target", "--json")
        check(result.status == 0, "texts are scored", result)
        return json.loads(result.out)


def verses(task):
    """What is told of the answers, and whether they are good enough."""
    train, held_out = (lines_of(task.pairs / f"{part}.source") for part in ("train", "val"))
    targets = lines_of(task.pairs / "train.target")
    answers = task.answers()
    near = [targets[place] for place in nearest(train, held_out)]
    for number in range(0, len(answers), len(answers) // 4):
        print(f"  {held_out[number]}\n  -> {answers[number]}")
    bleu = {"of the model": task.score(answers)["bleu"],
            "of the nearest training verse": task.score(near)["bleu"],
            "of copying": task.score(held_out)["bleu"]}
    return bleu, bleu["of the model"] >= 2 * bleu["of the nearest training verse"]


def spelling(task):
    answers, held_out = task.answers(), lines_of(task.pairs / "val.source")
    exact = {"right to the letter": task.score(answers)["exact_match"],
             "right by copying": task.score(held_out)["exact_match"]}
    return exact, exact["right to the letter"] >= 0.8 and exact["right by copying"] < 0.3


def main():
    if len(sys.argv) < 4 or sys.argv[3] not in TASKS:
        sys.exit(__doc__)
    task = Task(Program(sys.argv[1:3], quick=False), sys.argv[3])
    begin = time.monotonic()
    result = task.train(*sys.argv[4:])
    seconds = time.monotonic() - begin
    print(f"{result.summary['steps']} steps in {seconds:.0f} s, {result.summary['eval_loss']:.3f} "
          "nats a token of held-out texts", flush=True)
    scores, good = {"verses": verses, "spelling": spelling}[task.name](task)
    print(", ".join(f"{value:.3f} {name}" for name, value in scores.items()), flush=True)
    task.keep(result, {"seconds": round(seconds), "unigram": unigram_entropy(task.pairs, 64),
                       "scores": scores})
    check(good, "the answers are good enough")
    check(seconds <= MOST_SECONDS, f"{seconds:.0f} s are at most {MOST_SECONDS}")
    print("answers are learnt")


if __name__ == "__main__":
    main()
