#!/usr/bin/env python3
"""lm-eval gives the texts of scored_models.py, under a model of Hugging Face loaded from our
export, the scores that zeroapp eval gives them. Without lm-eval it says SKIP. With --write it
writes what lm-eval says to golden/lm_eval_scores.json, which runs/scores.py expects.

usage: scores_in_lm_eval.py ZEROAPP MPIEXEC [--write]
"""
import json
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
from program import Program, check
from scored_models import (LENGTH, MODELS, documents, records, write_lines, write_model)
import scores

try:
    import lm_eval
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager
except ImportError:
    lm_eval = None

ACCURACIES = {"acc": "acc", "acc_norm": "acc_norm", "acc_bytes": "acc_bytes",
              "acc_greedy": "exact_match"}  # ours: lm-eval's
PERPLEXITIES = ("word_perplexity", "byte_perplexity", "bits_per_byte")


def choice_task(name, path, delimiter):
    metrics = [{"metric": metric, "aggregation": "mean", "higher_is_better": True}
               for metric in ACCURACIES.values()]
    return {"task": name, "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": path}},
            "test_split": "test", "output_type": "multiple_choice", "doc_to_text": "context",
            "doc_to_choice": "choices", "doc_to_target": "answer", "target_delimiter": delimiter,
            "metric_list": metrics}


def document_task(name, path):
    return {"task": name, "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": path}},
            "test_split": "test", "output_type": "loglikelihood_rolling", "doc_to_text": "",
            "doc_to_target": "text", "metric_list": [{"metric": name} for name in PERPLEXITIES]}


def tasks(folder):
    """Records of one delimiter are a task each."""
    rows = records()
    kinds = {"blank_choices": [row for row in rows if "target_delimiter" not in row],
             "bare_choices": [row for row in rows if "target_delimiter" in row]}
    made = []
    for (name, some), delimiter in zip(kinds.items(), (" ", "")):
        path = folder / f"{name}.jsonl"
        write_lines(path, some)
        made.append(choice_task(name, str(path), delimiter))
    write_lines(folder / "all_documents.jsonl", documents())
    return [*made, document_task("all_documents", str(folder / "all_documents.jsonl"))]


def scored_by_lm_eval(model, made):
    found = lm_eval.simple_evaluate(
        model=HFLM(pretrained=str(model), device="cpu", dtype="float32", batch_size=4,
                   max_length=LENGTH),
        tasks=made, log_samples=True, bootstrap_iters=0, task_manager=TaskManager())
    samples = [sample for name in ("blank_choices", "bare_choices")
               for sample in sorted(found["samples"][name], key=lambda one: one["doc_id"])]
    said = {ours: sum(float(sample[theirs]) for sample in samples) / len(samples)
            for ours, theirs in ACCURACIES.items()}
    said.update({name: found["results"]["all_documents"][f"{name},none"]
                 for name in PERPLEXITIES})
    said["sums"] = [[round(float(score), 5) for score, _ in sample["filtered_resps"]]
                    for sample in samples]
    return said


def main():
    if lm_eval is None:
        print("SKIP no lm-eval")
        return
    writes = "--write" in sys.argv
    program = Program([word for word in sys.argv[1:] if word != "--write"])
    scores.prepare(program)
    made, said = tasks(program.folder), {"lm_eval": lm_eval.__version__}
    for name in MODELS:
        program.alone("import-weights", name, f"{name}_checkpoint")
        result = program.alone("export", f"{name}_checkpoint", f"{name}_export")
        check(result.status == 0, f"{name} is exported", result)
        for file in ("tokenizer.json", "tokenizer_config.json"):
            (program.folder / f"{name}_export" / file).write_bytes(
                (program.folder / name / file).read_bytes())
        said[name] = scored_by_lm_eval(program.folder / f"{name}_export", made)
        scores.agrees(program, name, said[name])
        print(name, {key: value for key, value in said[name].items() if key != "sums"}, flush=True)
    if writes:
        scores.GOLDEN.write_text(json.dumps(said) + "\n")
    print(f"scores are those of lm-eval {said['lm_eval']}")


if __name__ == "__main__":
    main()
