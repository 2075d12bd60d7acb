#!/usr/bin/env python3
"""Evaluates the functions of `ptxkit explain --smt` with z3 for concrete operands, and compares with constant folding.

    PTXKIT_SMT_CASES=cases cargo test -p ptxkit-semantics --test fold smt
    .ci/smt.py cases PTXKIT docs/analyzing.md

Where folding gives no result, because the PTX ISA manual leaves it open, the function must depend on its parameter `undefined`; elsewhere it must
not, and have the same bits. What is refused must be what the table of the page says. Then the scripts of a page are checked: a line `; ptxkit explain --smt NAME` is replaced by its output,
and the answer follows `(check-sat)` as a comment. Needs the package z3-solver.
"""

import json
import re
import subprocess
import sys
import time

import z3

PARAMETER = re.compile(r"\((\w+) (Bool|\(_ BitVec (\d+)\))\)")


class Function:
    """A function and its parameters as constants."""

    def __init__(self, text):
        head, _ = text.split("\n", 1)
        self.text = text
        self.name, parameters, result = re.fullmatch(r"\(define-fun (\S+) \((.*)\) (Bool|\(_ BitVec \d+\))", head).groups()
        self.parameters = [(name, int(width or 0)) for name, _, width in PARAMETER.findall(parameters)]
        names = [name for name, _ in self.parameters]
        constants = [f"(declare-const {name} {sort})" for name, sort, _ in PARAMETER.findall(parameters)]
        call = f"({self.name} {' '.join(names)})"
        script = "\n".join([text, *constants, f"(declare-const result {result})", f"(assert (= {call} result))"])
        (equation,) = z3.parse_smt2_string(script)
        self.term = next(side for side in equation.children() if not z3.eq(side, z3.Const("result", side.sort())))
        self.constants = [z3.Bool(name) if width == 0 else z3.BitVec(name, width) for name, width in self.parameters]
        self.is_open = "undefined" in names

    def value(self, values, undefined):
        """The result as a number; `undefined` is 0 or -1."""
        pairs = []
        for (name, width), constant in zip(self.parameters, self.constants):
            value = undefined if name == "undefined" else values[name]
            pairs.append((constant, z3.BoolVal(value != 0) if width == 0 else z3.BitVecVal(value, width)))
        result = z3.simplify(z3.substitute(self.term, *pairs))
        if z3.is_bool(result):
            return {"True": 1, "False": 0}.get(str(result), str(result))
        return result.as_long() if z3.is_bv_value(result) else str(result)


def results(functions, expected):
    """Each function with the result that folding gives it; -1 if it gives none."""
    of = {}
    for i, function in enumerate(functions):
        at = 0 if i == 0 else 2 if function.name.endswith(".carry") else 1
        of[function] = None if expected is None else expected[at]
    return of


def check(entry, wrong):
    functions = [Function(text) for text in entry["functions"]]
    count = 0
    for carry, *sources, expected in entry["cases"]:
        names = [name for name, _ in functions[0].parameters if name not in ("carry", "undefined")]
        values = dict(zip(names, sources), carry=carry)
        for i, (function, value) in enumerate(results(functions, expected).items()):
            # Without the first result, folding gives no other one.
            if i > 0 and value is None:
                continue
            count += 1
            found = function.value(values, 0)
            other = function.value(values, -1) if function.is_open else found
            is_right = found != other if value is None else found == other == value
            if not is_right:
                wrong.append(f"{function.name} {({k: hex(v) for k, v in values.items()})}: {found} or {other}, folded: {value}")
    return count


def check_refused(refused, page):
    """Compares the instructions without a function, by the reason, with the table of a page."""
    with open(page, encoding="utf-8") as file:
        (table,) = re.findall(r"^\| without a function \|.*\n\|.*\n((?:\|.*\n)+)", file.read(), re.MULTILINE)
    rows = (re.fullmatch(r"\| (.*?) \| (.*?) \|", row).groups() for row in table.splitlines())
    documented = {reason: sorted(re.findall(r"`(\w+)`", names)) for reason, names in rows}
    found = {reason.removeprefix("not expressible: "): sorted(names) for reason, names in refused.items()}
    for reason in sorted(documented.keys() | found.keys()):
        if documented.get(reason) != found.get(reason):
            print(f"{reason}: {page} lists {documented.get(reason)}, found {found.get(reason)}")
    if documented != found:
        sys.exit("other instructions are refused than documented")
    return sum(map(len, found.values()))


def check_page(program, page):
    """The number of scripts in a page; ends the program if one has another answer."""
    with open(page, encoding="utf-8") as file:
        scripts = re.findall(r"^```smt2\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    for script in scripts:
        (expected,) = re.findall(r"^\(check-sat\) ; (\w+)$", script, re.MULTILINE)
        names = re.findall(r"^; ptxkit explain --smt (\S+)$", script, re.MULTILINE)
        run = [subprocess.run([program, "explain", "--smt", name], check=True, capture_output=True, text=True) for name in names]
        solver = z3.Solver()
        solver.from_string("".join(one.stdout for one in run) + script.replace("(check-sat)", ""))
        found = str(solver.check())
        if found != expected:
            sys.exit(f"{page}: {found} instead of {expected}:\n{script}")
    return len(scripts)


def main():
    began, count, spellings, wrong, refused = time.time(), 0, 0, [], {}
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            if "refused" in entry:
                refused.setdefault(entry["refused"], []).append(entry["name"])
                continue
            count += check(entry, wrong)
            spellings += 1
    for message in wrong[:40]:
        print(message)
    print(f"{count} cases of {spellings} instructions, {len(wrong)} differences, {time.time() - began:.0f} s")
    if wrong or count < 50_000:
        sys.exit("the functions and constant folding differ" if wrong else "too few cases")
    print(f"{check_refused(refused, sys.argv[3])} refusals are those of {sys.argv[3]}")
    scripts = check_page(*sys.argv[2:])
    print(f"{scripts} scripts of {sys.argv[3]} have the answers that they state")
    if scripts == 0:
        sys.exit("no scripts")


main()
