#!/usr/bin/env python3
"""`zeroapp score` gives the BLEU of sacreBLEU, to 1e-9, with its signature, and the share of exact
matches, for 200 random corpora of pairs: real lines with changes, odd ones, short ones, none alike.

usage: bleu.py ZEROAPP TEXT      TEXT as tools/data/web_text.py makes it
"""
import json
import pathlib
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tools" / "golden"))
import bleu_golden  # noqa: E402
import python_packages  # noqa: E402

CORPORA, TOLERANCE = 200, 1e-9


def ours(zeroapp, folder, corpus):
    paths = [folder / name for name in ("texts", "references")]
    for path, lines in zip(paths, corpus):
        path.write_bytes("".join(line + "\n" for line in lines).encode())
    ran = subprocess.run([zeroapp, "score", *map(str, paths), "--json"], capture_output=True,
                         check=False)
    if ran.returncode != 0:
        sys.exit(f"failed: {ran.stderr.decode()}")
    return json.loads(ran.stdout)


def differences(found, expected, corpus):
    exact = sum(a.strip() == b.strip() for a, b in zip(*corpus)) / len(corpus[0])
    pairs = [(found["bleu"], expected.score), (found["brevity_penalty"], expected.bp),
             (found["exact_match"], exact), (found["text_tokens"], expected.sys_len),
             (found["reference_tokens"], expected.ref_len),
             *zip(found["precisions"], expected.precisions)]
    return [abs(a - b) for a, b in pairs]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    python_packages.use(*bleu_golden.PACKAGES)
    import sacrebleu
    zeroapp, source = sys.argv[1:]
    lines = pathlib.Path(source).read_text(encoding="utf-8").splitlines()
    metric = sacrebleu.BLEU()
    largest, scores = 0.0, []
    with tempfile.TemporaryDirectory(prefix="zeroapp-") as folder:
        for number, corpus in enumerate(bleu_golden.corpora(lines, CORPORA, seed=1)):
            expected = metric.corpus_score(corpus[0], [corpus[1]])
            found = ours(zeroapp, pathlib.Path(folder), corpus)
            largest = max(largest, *differences(found, expected, corpus))
            if not largest <= TOLERANCE:
                sys.exit(f"failed: corpus {number}: {found}, sacreBLEU: {vars(expected)}")
            if found["signature"] != str(metric.get_signature()):
                sys.exit(f"failed: {found['signature']}, sacreBLEU: {metric.get_signature()}")
            scores.append(found["bleu"])
    print(f"{len(scores)} corpora, BLEU {min(scores):.2f} to {max(scores):.2f}, largest difference "
          f"{largest:.1e}; {found['signature']}")
    print("all equal")


if __name__ == "__main__":
    main()
