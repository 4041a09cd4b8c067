#!/usr/bin/env python3
"""Writes tests/golden/parquet: files of documents in several row groups, as pyarrow writes them.
usage: parquet_golden.py [OUT]      writes into tests/golden/parquet by default"""
import pathlib
import sys

import python_packages


def main():
    python_packages.use("pyarrow==26.0.1")
    import pyarrow
    from pyarrow import parquet
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else \
        python_packages.TREE / "tests" / "golden" / "parquet"
    texts = [f"{'é' * (i % 5)}text {i}" for i in range(25)]
    table = pyarrow.table({"id": list(range(25)), "text": texts,
                           "meta": [{"list": [{"a": i}]} for i in range(25)]})
    parquet.write_table(table, folder / "text.parquet", row_group_size=10, compression="zstd")
    table = pyarrow.table({"prompt": pyarrow.array(["ab", "", "x"], pyarrow.large_string()),
                           "completion": ["c", "d", ""]})
    parquet.write_table(table, folder / "completion.parquet", row_group_size=2)
    table = pyarrow.table({"input_ids": pyarrow.array([[1, 2, 3], [], [4]],
                                                      pyarrow.list_(pyarrow.int32())),
                           "labels": pyarrow.array([[-100, 2, 3], [], [-100]],
                                                   pyarrow.large_list(pyarrow.int64()))})
    parquet.write_table(table, folder / "ids.parquet", row_group_size=2, compression="gzip")
    table = pyarrow.table({"text": ["a", None, "c"]})
    parquet.write_table(table, folder / "null.parquet", compression="none")
    table = pyarrow.table({"text": [1, 2]})
    parquet.write_table(table, folder / "numbers.parquet", compression="none")


if __name__ == "__main__":
    main()
