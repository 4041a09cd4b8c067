"""Texts with labels, what the program says of them, and its metrics once more; tests share it."""
import csv
import json
import math
import random
import struct

from program import check


def letters(count, seed=7, shares=(0, 0, 1, 1, 2)):
    """Kinds, which `shares` holds as often as they shall come, each with a text whose first letter
    says the kind, but for one text in ten."""
    draw = random.Random(seed)
    for _ in range(count):
        kind = draw.choice(shares)
        rest = "".join(draw.choice("abcdefg ") for _ in range(draw.randint(3, 10)))
        yield kind, ("xyz"[kind] if draw.random() > 0.1 else "x") + rest


def write_table(path, names, rows):
    """Records in the format that the name of the file says; quotes of CSV hold what they may."""
    with path.open("w", newline="", encoding="utf-8") as file:
        if path.suffix == ".jsonl":
            file.writelines(json.dumps(dict(zip(names, row))) + "\n" for row in rows)
        elif path.suffix == ".csv":
            csv.writer(file).writerows([names, *rows])
        else:
            file.writelines("\t".join(map(str, row)) + "\n" for row in (names, *rows))


def trained(program, name, ranks, *settings, input_file):
    result = program.wait(program.start(ranks, *settings, f"run.output=runs/{name}",
                                        input_file=input_file), run=name)
    check(result.finished(), f"{name}: {ranks} ranks with {settings}", result)
    return result


def evaluated(program, ranks, *words):
    line = program.launch_line(ranks) if ranks > 1 else [str(program.zeroapp)]
    result = program.wait(program.popen([*line, "eval", *words, "run.threads=1"]))
    check(result.status in (0, 1) and not result.error_lines(), f"{words} on {ranks}", result)
    return result


def evaluations(program, name):
    text = (program.folder / "runs" / name / "evaluations.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def facts_of(program, name, step):
    folder = program.folder / "runs" / name / "checkpoints" / f"step{step:08d}"
    return json.loads((folder / "MANIFEST.json").read_text())["facts"]


def rows_of(path):
    return [line.split("\t") for line in path.read_text().splitlines()]


def f1_of_classes(pairs, names):
    """F1 of the second name of two, else the mean over those that occur."""
    occurring = sorted({name for pair in pairs for name in pair})
    scores = []
    for name in names[1:] if len(names) == 2 else occurring:
        both, uses = pairs.count((name, name)), sum(pair.count(name) for pair in pairs)
        scores.append(2 * both / uses if uses else 0)
    return sum(scores) / len(scores)


def metrics_of_classes(rows, names):
    """Accuracy, F1 and Matthews' correlation of predicted and labelled names."""
    pairs = [(row[0], row[1]) for row in rows]
    hits = sum(chosen == label for chosen, label in pairs)
    products = [sum(p == n for p, _ in pairs) * sum(t == n for _, t in pairs) for n in names]
    squares = [[sum(pair[i] == n for pair in pairs) ** 2 for n in names] for i in (0, 1)]
    norm = math.sqrt(math.prod(len(pairs) ** 2 - sum(each) for each in squares))
    matthews = (hits * len(pairs) - sum(products)) / norm if norm else 0
    return hits / len(pairs), f1_of_classes(pairs, names), matthews


def correlation(first, second):
    a, b = ([x - math.fsum(each) / len(each) for x in each] for each in (first, second))
    dot = math.fsum(x * y for x, y in zip(a, b))
    return dot / math.sqrt(math.fsum(x * x for x in a) * math.fsum(y * y for y in b))


def ranks_of(numbers):
    return [sum(other < x for other in numbers) + (numbers.count(x) + 1) / 2 for x in numbers]


def metrics_of_numbers(rows):
    """Pearson's and Spearman's correlation of scores and labels."""
    scores = [struct.unpack("f", struct.pack("f", float(row[0])))[0] for row in rows]
    columns = scores, [float(row[1]) for row in rows]
    return correlation(*columns), correlation(*map(ranks_of, columns))
