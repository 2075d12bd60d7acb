#!/usr/bin/env python3
"""Plants bugs: writes copies of the kernels of a folder in each of which one instruction that orders accesses is deleted.

    plant.py FOLDER/kernels OUTPUT

OUTPUT then has the folders `kernels`, a link, and `mutants`, which `check.py PROGRAM OUTPUT` runs. Some deleted instructions are redundant.
"""

import argparse
import csv
import pathlib
import re

ORDERING = re.compile(
    r"^\s*(?:@!?%\w+\s+)?("
    r"bar\.(?:sync|warp\.sync)|barrier\.|membar|fence\.|cp\.async\.wait|cp\.async\.bulk\.wait_group|cp\.async\.commit_group|"
    r"wgmma\.(?:fence|wait_group|commit_group)|tcgen05\.(?:wait|fence|commit)|mbarrier\.(?:init|inval|arrive)|griddepcontrol\.wait"
    r")[^\n]*;",
    re.MULTILINE,
)

# A loop that waits for a phase, in braces.
WAIT = re.compile(r"^\{\s*\.reg \.pred complete;.*?^\}", re.MULTILINE | re.DOTALL)


def copies(text):
    """The copies of a file with one instruction deleted, with descriptions. Line numbers are kept."""
    for pattern in (ORDERING, WAIT):
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.end()) + 1
            instruction = " ".join(match.group().split())
            if pattern is WAIT:
                instruction = "wait for a phase"
            lines = match.group().count("\n")
            yield f"{instruction} deleted in line {line}", text[: match.start()] + "\n" * lines + text[match.end() :]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kernels", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--filter", default="", help="only files whose names contain this text")
    arguments = parser.parse_args()
    mutants = arguments.output / "mutants"
    mutants.mkdir(parents=True, exist_ok=True)
    link = arguments.output / "kernels"
    if not link.exists():
        link.symlink_to(arguments.kernels.resolve())
    rows = []
    for path in sorted(arguments.kernels.glob(f"*{arguments.filter}*.ptx")):
        for number, (description, text) in enumerate(copies(path.read_text())):
            name = f"{number:03}_{path.name}"
            (mutants / name).write_text(text)
            rows.append([name, path.name, description])
    with (mutants / "INDEX.tsv").open("w") as index:
        writer = csv.writer(index, delimiter="\t", lineterminator="\n")
        writer.writerow(["file", "original", "what was changed"])
        writer.writerows(rows)
    print(f"{len(rows)} copies in {mutants}")


if __name__ == "__main__":
    main()
