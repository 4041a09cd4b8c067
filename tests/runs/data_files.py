#!/usr/bin/env python3
"""Files of data on the way to samples. Parts of a mix have their shares of the rows. A prepared set
has the same bytes at 1 and 3 ranks, and after its making was killed at any moment. A run prepares
files above 64 MiB by itself, once: again after a change, on with what a killed run has left, not
while the run is alive, and with the samples of the files. A damaged line ends all ranks with one
message. RECORDS=10000000 in the environment: instead of that, 3 files of so many records together
begin to train within 20 s once they are prepared."""
import collections
import json
import os
import random
import re
import shutil
import signal
import time

from program import Program, check, check_refused
from signals import children_of

MODEL = """
train_batch_size = 4
train_micro_batch_size_per_gpu = 1
[model]
family = "llama"
layers = 1
width = 16
heads = 1
inner = 32
vocab_size = 300
max_positions = 64
[data]
train = "large.jsonl"
sequence_length = 32
[run]
steps = 2
threads = 1
[numerics]
reproducible = true
[checkpoint]
resume = "never"
"""
MIB = 1 << 20
LARGE = 66 * MIB


def settings_of(run, *settings):
    return (*settings, f"run.output=runs/{run}")


def train(program, run, ranks, *settings, status=0):
    result = program.wait(program.start(ranks, *settings_of(run, *settings),
                                        input_file="files.toml"), run=run)
    check(status or result.finished(), f"{run}: {ranks} ranks with {settings}", result)
    return result


def write_records(program, name, size, seed):
    """A file of JSON lines of at least so many bytes, in which lines of a block repeat."""
    draw = random.Random(seed)
    block = "".join(json.dumps({"text": f"{i} " + "ab cd é " * draw.randint(0, 60)}) + "\n"
                    for i in range(3000))
    with open(program.folder / name, "w", encoding="utf-8") as file:
        while file.tell() < size:
            file.write(block)


def content(folder):
    """The files of a set by their names, but those of the process that made it."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "LOCK"}


def keeps_shares(program):
    """100,000 rows of a mix: each part within 0.1 % of its share, whatever it has."""
    weights = {"a": (5, 400), "b": (3, 70), "c": (2, 900)}
    parts, begins = [], [0]
    for name, (weight, count) in weights.items():
        program.write(f"{name}.jsonl", "".join(f'{{"input_ids": [{i % 300}, 1]}}\n'
                                               for i in range(count)))
        parts.append(f'{{path = "{name}.jsonl", weight = {weight}}}')
        begins.append(begins[-1] + count)
    shown = program.alone("data", "files.toml", "--steps", "1..100", "--json", "data.packing=none",
                          f"data.train=[{', '.join(parts)}]", "train_batch_size=1000",
                          "data.sequence_length=2", "run.steps=100")
    rows = [int(row) for row in re.findall(r'"sample":(\d+)', shown.out)]
    check(len(rows) == 100_000, f"{len(rows)} rows", shown)
    for i, (name, (weight, count)) in enumerate(weights.items()):
        own = [row for row in rows if begins[i] <= row < begins[i + 1]]
        share = len(own) / len(rows)
        check(abs(share - weight / 10) <= 0.001 * weight / 10, f"{name} has a share of {share}")
        times = collections.Counter(own).values()
        check(len(times) == count and max(times) - min(times) <= 1,
              f"{len(times)} of {count} rows of {name} come {min(times)} to {max(times)} times")


def prepare(program, ranks, name, *settings):
    words = ("data", "files.toml", "--prepare", f"{name}.documents", *settings)
    return program.together(ranks, *words) if ranks > 1 else program.alone(*words)


def kill_all(process):
    """Kills a launcher and its ranks at once."""
    ranks = list(children_of(process.pid))
    for pid in (process.pid, *ranks):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.communicate()


def kill_when(program, line, is_time):
    """Starts the program, and kills it and its ranks once it is time. False if it ended before."""
    process = program.popen(line)
    while process.poll() is None and not is_time():
        time.sleep(0.002)
    ended = process.poll() is not None
    kill_all(process)
    return not ended


def moments(folder):
    """Ranks and conditions on a set in the making; parts that are there stay."""
    def has(count):
        return lambda: len(list(folder.glob("0000[0-9]"))) >= count
    return {"its folder": (1, folder.exists),
            "a part begun": (3, lambda: any(folder.glob("00000.tmp-*"))),
            "two parts": (3, has(2)),
            "three parts": (1, has(3))}


def survives_kills(program):
    """The same set at 1 and 3 ranks, and where its making is killed and goes on."""
    result = prepare(program, 1, "one")
    check(result.status == 0 and "5 parts" in result.out, "one rank prepares", result)
    whole = content(program.folder / "one.documents")
    shutil.rmtree(program.folder / "one.documents")
    result = prepare(program, 3, "three")
    check(result.status == 0 and result.out.count("5 parts") == 1, "three ranks prepare", result)
    check(content(program.folder / "three.documents") == whole, "three ranks make the same set")
    shutil.rmtree(program.folder / "three.documents")
    folder, kills = program.folder / "killed.documents", 0
    for name, (ranks, is_time) in moments(folder).items():
        line = program.launch_line(ranks) if ranks > 1 else [str(program.zeroapp)]
        line += ["data", "files.toml", "--prepare", folder.name]
        killed = kill_when(program, line, is_time)
        check(killed and not (folder / "list").exists(), f"killed at {name}, there is no set")
        refused = program.alone("data", "files.toml", f"data.train={folder.name}")
        check_refused(refused, 3, "is no whole prepared set")
        kills += 1
    result = prepare(program, 2, "killed")
    check(result.status == 0 and "kept from before" in result.out, "it goes on", result)
    check(content(folder) == whole, "and makes the same set", result)
    shutil.rmtree(folder)
    print(f"killed at {kills} moments, the set is the same", flush=True)
    return whole


def names_damage(program):
    """A line in the last part but one, on whatever rank."""
    path = program.folder / "large.jsonl"
    good = path.read_bytes()
    at = good.index(b"\n", len(good) * 5 // 8) + 1
    line = good.count(b"\n", 0, at) + 1
    path.write_bytes(good[:at] + b'{"text": 7}\n' + good[at:])
    refused = train(program, "bad", 2, status=3)
    check_refused(refused, 3, f"large.jsonl: line {line}: \"text\" is no text")
    check(not list((program.folder / "runs/bad").glob("prepared/*/*.documents/list")),
          "no set is left", refused)
    path.write_bytes(good)


def set_of(program, run):
    found = list((program.folder / f"runs/{run}/prepared").glob("*/*.documents"))
    check(len(found) == 1, f"{run} has made {found}")
    return found[0]


def prepares_by_itself(program, whole):
    raw = train(program, "raw", 1, "data.max_train_samples=1000000000")
    check("encoded once" not in raw.out, "a run that takes the first documents encodes these", raw)
    own = train(program, "own", 2)
    check("large.jsonl is encoded once, on all ranks, into runs/own/prepared" in own.out and
          "in 5 parts" in own.out, "a run says that it prepares", own)
    made = content(set_of(program, "own"))
    check({name: made[name] for name in whole} == whole, "the set is that of --prepare")
    check(raw.state() == own.state(), "and trains as the file does", own)
    again = train(program, "own", 1)
    check("1 prepared set of an earlier launch" in again.out and "encoded" not in again.out and
          again.state() == own.state(), "it is made once", again)
    changed = train(program, "own", 1, "data.eos_id=7")
    check("is encoded anew, as tokenizer or settings have changed" in changed.out,
          "other rules make it anew", changed)
    with open(program.folder / "large.jsonl", "a", encoding="utf-8") as file:
        file.write('{"text": "one more"}\n')
    settings = settings_of("own", "data.eos_id=7")
    place = set_of(program, "own")
    killed = kill_when(program, [*program.launch_line(2), "files.toml", *settings],
                       lambda: not (place / "list").exists())
    check(killed and not (place / "list").exists(), "a run is killed")
    more = train(program, "own", 2, "data.eos_id=7")
    check(re.search(r"in 5 parts, of which [45] were there", more.out), "it goes on", more)
    os.utime(program.folder / "large.jsonl")
    touched = train(program, "own", 1, "data.eos_id=7")
    check("large.jsonl has changed" in touched.out and "of which 5 were there" in touched.out and
          touched.state() == more.state(), "a touched file is read, and all parts kept", touched)


def leaves_a_live_run_alone(program):
    """A second start in the folder of a live run, by other rules, does not touch its sets."""
    lock, place = program.folder / "runs/own/lock", set_of(program, "own")
    made = content(place)
    settings = settings_of("own", "data.eos_id=7", "run.steps=1000000")
    process = program.start(1, *settings, input_file="files.toml")
    try:
        while process.poll() is None and not lock.read_text():
            time.sleep(0.01)
        check(process.poll() is None, "a run is alive")
        refused = train(program, "own", 1, "data.eos_id=8", status=9)
        check_refused(refused, 9, "run.output: runs/own is in use by")
        check(content(place) == made, "its set is as it was", refused)
    finally:
        kill_all(process)


def encodes_large_texts(program):
    """A text above 64 MiB through a tokenizer, which a run without a set refuses."""
    folder = program.folder / "bpe"
    folder.mkdir()
    symbols = [chr(b) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174 else None
               for b in range(256)]
    missing = iter(range(256, 512))
    ids = {symbol or chr(next(missing)): i for i, symbol in enumerate(symbols)}
    ids["ab"] = 256
    (folder / "vocab.json").write_text(json.dumps(ids))
    (folder / "merges.txt").write_text("#version: 0.2\na b\n")
    block = "".join(f"{i} abab, ab.\n" + ("\n" if i % 9 == 0 else "") for i in range(5000))
    with open(program.folder / "large.txt", "w", encoding="utf-8") as file:
        while file.tell() < LARGE:
            file.write(block)
    settings = ("data.train=large.txt", "data.tokenizer=bpe")
    check_refused(program.alone("data", "files.toml", *settings), 3, "but at most 67108864")
    result = train(program, "text", 2, *settings)
    check("large.txt is encoded once" in result.out, "a text is encoded in parts", result)
    again = train(program, "text", 1, *settings)
    check("1 prepared set" in again.out and again.state() == result.state(), "once", again)


def begins_at_once(program, records):
    """Many records in files with weights, which a first launch prepares."""
    parts = []
    for i, weight in enumerate((5, 3, 2)):
        with open(program.folder / f"{i}.jsonl", "w", encoding="utf-8") as file:
            for first in range(0, records // 3, 1000):
                file.write("".join(f'{{"text": "record {first + n} of part {i}, ' +
                                   "and so on " * (n % 7) + '"}\n' for n in range(1000)))
        parts.append(f'{{path = "{i}.jsonl", weight = {weight}}}')
    mix = f"data.train=[{', '.join(parts)}]"
    first = train(program, "many", 2, mix)
    check(first.out.count("is encoded once") == 3, "three sets are made", first)
    begun = time.monotonic()
    process = program.start(2, *settings_of("many", mix, "run.steps=1"), input_file="files.toml")
    result = program.wait(process, run="many")
    seconds = time.monotonic() - begun
    check(result.finished() and "3 prepared sets" in result.out, "they are read", result)
    print(f"{records} records: started, one step and ended within {seconds:.1f} s", flush=True)
    check(seconds <= 20, f"{seconds:.1f} s from start to the first step")


def main():
    program = Program()
    program.write("files.toml", MODEL)
    records = int(os.environ.get("RECORDS", "0"))
    if records > 0:
        begins_at_once(program, records)
    else:
        keeps_shares(program)
        write_records(program, "large.jsonl", LARGE, 5)
        whole = survives_kills(program)
        names_damage(program)
        prepares_by_itself(program, whole)
        leaves_a_live_run_alone(program)
        encodes_large_texts(program)
    print("data are prepared once and alike")


main()
