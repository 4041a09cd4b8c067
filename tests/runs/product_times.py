#!/usr/bin/env python3
"""tools/product_times.py reads what kernels/vendor/algorithm_cache.hpp writes."""
import json
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "product_times.py"


def line(problem, microseconds):
    return f"\nH200, cuBLASLt 13.1.0\t{problem}\t{'00' * 64}\t{microseconds}\t0123abcd\n"


def main():
    with tempfile.TemporaryDirectory() as place:
        kept, out = pathlib.Path(place) / "kept.txt", pathlib.Path(place) / "out.json"
        kept.write_text(line("a", "5") + line("a gelu", "9") + line("a gelu apart", "8") +
                        line("a gelu", "7") + line("a gelu by lagged", "6.5") +
                        line("a gelu by ping-pong", "inf") + line("aa gelu by lagged", "1") +
                        line("b gelu", "inf") + line("b gelu apart", "3.5") +
                        "torn\tc gelu apart\t00")
        printed = subprocess.run([sys.executable, str(TOOL), str(kept), "--to", str(out)],
                                 check=True, capture_output=True, text=True).stdout
        assert "2 products were measured both ways" in printed, printed
        found = [(one["product"], one["fused_us"], one["apart_us"], one["own_us"], one["way"])
                 for one in json.loads(out.read_text())]
        assert found == [("a gelu", 7.0, 8.0, 6.5, "lagged"),
                         ("b gelu", None, 3.5, None, "apart")], found
        printed = subprocess.run([sys.executable, str(TOOL), str(kept) + ".none"],
                                 check=True, capture_output=True, text=True).stdout
        assert "0 products" in printed, printed
    print("both ways are read")


main()
