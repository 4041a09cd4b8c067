#!/usr/bin/env python3
"""A tool that Kokkos loads (KOKKOS_TOOLS_LIBS) sees ops as regions and kernels by name."""
from program import Program, check


def main():
    program = Program()
    path = program.folder / "seen.txt"
    env = {"KOKKOS_TOOLS_LIBS": str(program.library), "TOOL_FILE": str(path)}
    result = program.wait(program.popen([str(program.zeroapp), "tiny.toml", "run.steps=2"], env))
    check(result.finished(), "trains to the end", result)
    lines = path.read_text().splitlines()
    kernels = {line.split(" ", 1)[1] for line in lines if line.startswith("kernel ")}
    named = {name for name in kernels if name.startswith("zero::")}
    check(len(named) >= 3, f"kernels are named zero::...: {kernels}", result)
    check(kernels == named, f"all of them: {kernels - named}", result)
    regions = {line.split(" ", 1)[1] for line in lines if line.startswith("region ")}
    for wanted in ("decide", "linear h.0", "adam "):
        check(any(name.startswith(wanted) for name in regions), f"{wanted!r} in {regions}", result)
    opened = sum(line.startswith("region ") for line in lines)
    closed = sum(line.startswith("end") for line in lines)
    check(opened == closed > 0, f"{opened} regions begin and {closed} end", result)
    print("regions reach tools")


main()
