#!/usr/bin/env python3
"""Recomputes the output of `ptxkit dump --analysis` without any of its code.

From the JSON alone: what blocks use, kill and define, what is live, dominators, post-dominators, loops. From the source text, with a
separate parser: where blocks start and end, their successors, and the registers read and written by instructions whose operands follow
the common patterns (the destination first; nothing written). Prints the first differences; the exit status tells whether there are any.

usage: analysis.py PTXKIT FILE-OR-FOLDER... [--most BYTES] [--total BYTES]
"""
import json
import os
import re
import subprocess
import sys
from multiprocessing import Pool

# The first operand is written, the others are read. Other instructions are not compared.
WRITES_FIRST = set("""abs add addc and bfe bfi bfind bmsk brev clz cnot copysign cos createpolicy cvt cvta dp2a dp4a div
ex2 fma fns isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max min mma mov movmatrix mul mul24 neg not
or popc prmt rcp rem rsqrt sad selp set setp shf shfl shl shr sin slct sqrt sub subc suld szext tanh testp tex tld4 txq
vote wmma xor activemask elect redux getctarank vadd vsub vabsdiff vmin vmax vshl vshr vmad vset atom""".split())
WRITES_NOTHING = set("""st red bar barrier membar fence prefetch prefetchu bra brx ret exit trap brkpt sust nanosleep
pmevent stmatrix discard applypriority griddepcontrol setmaxnreg""".split())
# Forms of these families that write something else.
EXCEPT = re.compile(r"wmma\.store|bar(rier)?\.(cta\.)?red|st\.bulk|(ld|st)\.async|atom\.cas\.b128")
ENDS = {"bra", "brx", "ret", "exit", "trap"}
TOKEN = re.compile(r"[\w$%]+\s*:(?!:)|/\*.*?\*/|//[^\n]*|\"[^\"\n]*\"|\n|[{};]|[^\s{};/\"]+|/|\"", re.S)
# Files that test the lexer and parser: only their JSON is checked.
ODD = ("lex_", "stmt_", "decl_")
COLORS = str.maketrans("rgba", "xyzw")
NAME = re.compile(r"(?<![\w$%.])[%a-zA-Z_$][\w$]*(?:\.[xyzwrgba](?![\w]))?")


def statements(text):
    """(line, words) of each statement; braces alone are statements."""
    line, start, words, vector = 1, 1, [], 0
    for match in TOKEN.finditer(text):
        token = match.group()
        if token == "\n":
            line += 1
            if words and words[0] in (".loc", ".file", "#"):
                yield start, words
                words = []
            continue
        if token.startswith(("//", "/*")):
            line += token.count("\n")
            continue
        if token == "{" and not words:
            yield line, ["{"]
        elif token == "}" and not vector:
            if words:
                yield start, words
                words = []
            yield line, ["}"]
        elif token == ";":
            yield start, words
            words, vector = [], 0
        elif token == "{" and not opens_body(words):
            words.append("{")
            vector += 1
        elif token == "{":
            yield start, words
            yield line, ["{"]
            words = []
        else:
            if not words:
                start = line
                if token[0] == "#":
                    words = ["#"]
                    continue
            if token == "}":
                vector -= 1
            words.append(token)
            if token.endswith(":") and len(words) == 1 or words[-1] == ":" and len(words) == 2:
                yield start, ["".join(words)]
                words = []


def opens_body(words):
    return any(w in (".entry", ".func", ".section") for w in words)


def functions(text):
    """Each function with a body: its name, the statements in it, and the registers that hold its results."""
    depth, head, body, results = 0, None, [], []
    for line, words in statements(text):
        if words == ["{"]:
            depth += 1
            if depth > 1:
                body.append((line, words))
        elif words == ["}"]:
            depth -= 1
            if depth > 0:
                body.append((line, words))
            elif head:
                yield head, body, results
                head = None
        elif depth == 0:
            joined = " ".join(words)
            joined = re.sub(r"\.attribute\s*\((?:[^()]|\([^)]*\))*\)", "", joined)
            name = re.search(r"\.(?:entry|func)\s*(?:\.\w+\s*)*(\([^)]*\)\s*)?(?:\.\w+\s*)*([\w$%]+)", joined)
            head = name.group(2) if name else None
            results = re.findall(r"\.reg\b[^,()]*?([\w$%]+)\s*(?=[,)])", name.group(1) or "") if name else []
            declared = re.findall(r"\.reg\b[^,()]*", joined)
            body = [(line, [d]) for d in declared]
        else:
            body.append((line, words))


def registers(body):
    """A function from a name to the registers that it denotes: one, the elements of a vector, or none."""
    single, ranges, vectors = set(), set(), {}
    for _, words in body:
        text = " ".join(words)
        if not text.startswith(".reg"):
            continue
        wide = re.search(r"\.v([24])\b", text)
        for item in re.sub(r"\.\w+", "", text).replace(" ", "").split(","):
            (ranges if "<" in item else single).add(item.split("<")[0])
            if wide:
                vectors[item] = "xyzw"[:int(wide.group(1))]
    among = "|".join(map(re.escape, sorted(ranges, key=len, reverse=True))) or "(?!)"
    known = re.compile(f"(?:{among})\\d+$")

    def find(name):
        base, _, lane = name.partition(".")
        if base in vectors:
            return {f"{base}.{x}" for x in lane.translate(COLORS) or vectors[base]}
        return {base} if base in single or known.match(base) else set()
    return find


def operands(text):
    """The texts between commas outside of all brackets."""
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        if c in "[{(":
            depth += 1
        elif c in "]})":
            depth -= 1
        elif c == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return parts


def names(text, of):
    return {r for n in NAME.findall(text) for r in of(n)}


def plain(name):
    """Without the number of equal names: this reader knows no scopes."""
    return name and re.sub(r"#\d+", "", name)


def effect(words, of):
    """Mnemonic, guard, what is read, what is written; the latter None where this reader does not know."""
    guard, rest = None, " ".join(words)
    found = re.match(r"@\s*(!?)\s*([\w$%.]+)\s*", rest)
    if found:
        guard, rest = found.group(1) + found.group(2), rest[found.end():]
    found = re.match(r"([a-z]\w*(?:\s*(?:\.\w+|::\w+))*)\s*", rest)
    if not found:
        raise ValueError(f"what is `{rest[:80]}`?")
    mnemonic, rest = re.sub(r"\s", "", found.group(1)), rest[found.end():]
    opcode = mnemonic.split(".")[0]
    reads, writes = (names(guard, of) if guard else set()), None
    if not EXCEPT.match(mnemonic):
        parts = operands(rest)
        if opcode in WRITES_FIRST:
            reads |= names(",".join(parts[1:]), of)
            writes = names(parts[0], of)
        elif opcode in WRITES_NOTHING:
            reads |= names(rest, of)
            writes = set()
        elif opcode == "call":
            lists = re.findall(r"\(([^)]*)\)", rest)
            outside = re.sub(r"\([^)]*\)", "", rest)
            returned = rest.startswith("(")
            reads |= names(outside + " " + " ".join(lists[returned:]), of)
            writes = names(lists[0], of) if returned else set()
    return mnemonic, guard, reads, writes


class Report:
    def __init__(self, where):
        self.where, self.found = where, []

    def same(self, what, told, own):
        if told != own:
            if isinstance(told, list):
                told, own = next(((a, b) for a, b in zip(told, own) if a != b), (len(told), len(own)))
            self.found.append(f"{self.where}: {what}: ptxkit {short(told)}, recomputed {short(own)}")


def short(value):
    text = str(sorted(value, key=str) if isinstance(value, (set, frozenset)) else value)
    return text if len(text) < 300 else text[:300] + "…"


def dominators(count, entry, succ):
    """For each node the set of nodes, as bits, that lie on every path to it; None for one not reached."""
    order, seen, stack = [], {entry}, [(entry, iter(succ[entry]))]
    while stack:
        node, rest = stack[-1]
        for to in rest:
            if to not in seen:
                seen.add(to)
                stack.append((to, iter(succ[to])))
                break
        else:
            order.append(node)
            stack.pop()
    order.reverse()
    pred = [[] for _ in range(count)]
    for node in order:
        for to in succ[node]:
            pred[to].append(node)
    full = (1 << count) - 1
    dom = [None] * count
    for node in order:
        dom[node] = full
    dom[entry] = 1 << entry
    changed = True
    while changed:
        changed = False
        for node in order:
            if node == entry:
                continue
            new = full
            for before in pred[node]:
                new &= dom[before]
            new |= 1 << node
            if new != dom[node]:
                dom[node], changed = new, True
    return dom, pred


def immediate(dom, node, entry):
    """The strict dominator with the most dominators."""
    if dom[node] is None or node == entry:
        return None
    strict = dom[node] & ~(1 << node)
    best = None
    while strict:
        low = strict & -strict
        at = low.bit_length() - 1
        if best is None or bin(dom[at]).count("1") > bin(dom[best]).count("1"):
            best = at
        strict ^= low
    return best


def check_graph(blocks, report):
    count = len(blocks)
    index = {b["id"]: i for i, b in enumerate(blocks)}
    report.same("ids", [b["id"] for b in blocks], list(range(count)))
    succ = [[index[s] for s in b["succ"]] for b in blocks]
    dom, pred = dominators(count, 0, succ)
    back = [[] for _ in range(count + 1)]
    for node in range(count):
        for to in succ[node]:
            back[to].append(node)
        if blocks[node]["exits"]:
            back[count].append(node)
    post, _ = dominators(count + 1, count, back)
    loops = {}
    for node in range(count):
        for head in succ[node]:
            if dom[node] is not None and dom[node] >> head & 1:
                body, work = loops.setdefault(head, {head}), [node]
                while work:
                    at = work.pop()
                    if at not in body:
                        body.add(at)
                        work.extend(pred[at])
    for node, block in enumerate(blocks):
        name = f"block {node}"
        report.same(name + " reachable", block["reachable"], dom[node] is not None)
        report.same(name + " idom", block["idom"], immediate(dom, node, 0))
        up = immediate(post, node, count) if dom[node] is not None else None
        report.same(name + " ipdom", block["ipdom"], None if up == count else up)
        around = [(len(body), head) for head, body in loops.items() if node in body]
        report.same(name + " loop", (block["loop_header"], block["loop_depth"]),
                     (min(around)[1] if around else None, len(around)))


def check_live(blocks, insts, report):
    uses = [set() for _ in blocks]
    kills = [set() for _ in blocks]
    defs = [set() for _ in blocks]
    for inst in insts:
        at = inst["block"]
        uses[at] |= set(inst["reads"]) - kills[at]
        kills[at] |= set(inst["writes"])
        defs[at] |= set(inst["writes"]) | set(inst["cond_writes"])
    live = [set(u) for u in uses]
    changed = True
    while changed:
        changed = False
        for at in range(len(blocks) - 1, -1, -1):
            out = set(blocks[at]["returned"]).union(*(live[s] for s in blocks[at]["succ"]))
            new = uses[at] | out - kills[at]
            if new != live[at]:
                live[at], changed = new, True
    for at, block in enumerate(blocks):
        out = set(block["returned"]).union(*(live[s] for s in block["succ"]))
        own = (uses[at], kills[at], defs[at], live[at], out)
        for key, value in zip(("uses", "kills", "defs", "live_in", "live_out"), own):
            report.same(f"block {at} {key}", set(block[key]), value)
            if len(set(block[key])) != len(block[key]):
                report.found.append(f"{report.where}: block {at}: {key} has a name twice")


def ends(inst, noreturn):
    """Whether control may go elsewhere."""
    opcode = inst[1].split(".")[0]
    return opcode in ENDS or opcode == "call" and any(w.strip(",();") in noreturn for w in inst[5])


def targets_of(table):
    """The labels of a table, a range such as `L<3>` as its members."""
    for label in table.split(","):
        count = re.match(r"(.*)<(\d+)>$", label)
        yield from (f"{count.group(1)}{n}" for n in range(int(count.group(2)))) if count else (label,)


def jump_targets(body):
    """The names of the labels in jumps and in tables of jumps, whatever their scope."""
    targets = set()
    for _, words in body:
        if words[0] == ".branchtargets":
            targets.update(targets_of("".join(words[1:])))
        elif any(word.split(".")[0] == "bra" for word in words[:2]):
            targets.add(words[-1])
    return targets


def check_text(function, body, results, noreturn, report):
    """Blocks and instructions from the text; how many instructions there are, and how many were compared."""
    of = registers(body)
    jumped_to = jump_targets(body)
    own, tables, labels, scope, scopes = [], {}, {}, (), 0
    current = None
    for at, (line, words) in enumerate(body):
        first = words[0]
        if first == "{":
            scopes += 1
            scope += (scopes,)
        elif first == "}":
            scope = scope[:-1]
        if len(words) == 1 and first.endswith(":"):
            following = body[at + 1][1] if at + 1 < len(body) else [""]
            if following[0] == ".branchtargets":
                tables[scope, first[:-1]] = list(targets_of("".join(following[1:])))
            if following[0] in (".branchtargets", ".callprototype", ".calltargets"):
                continue
            # A label that nothing jumps to starts no block where control flows into it.
            if current is not None and first[:-1] not in jumped_to:
                continue
            labels[scope, first[:-1]] = len(own)
            current = {"label": first[:-1], "first": line, "insts": []}
            own.append(current)
            continue
        if first in "{}" or first.startswith((".", "#")):
            continue
        inst = (line, *effect(words, of), words)
        if current is None:
            current = {"label": None, "first": line, "insts": []}
            own.append(current)
        current["insts"].append(inst)
        current["scope"] = scope
        if ends(inst, noreturn):
            current = None
    blocks = function["blocks"]
    if not own:
        return 0, 0
    report.same("blocks", [(b["label"], b["first_line"]) for b in blocks], [(b["label"], b["first"]) for b in own])
    if len(own) != len(blocks):
        return 0, 0
    def visible(table, scope, name):
        while scope and (scope, name) not in table:
            scope = scope[:-1]
        return table[scope, name]
    mentioned = {r.split(".")[0] for b in own for i in b["insts"] for r in names(" ".join(i[5]), of)}
    results_of = {r for name in results if name in mentioned for r in of(name)}
    for nth, (told, block) in enumerate(zip(blocks, own)):
        if told["unknown"]:
            continue
        after = nth + 1 if nth + 1 < len(own) else None
        targets, on, leaves, returns = [], True, False, False
        last = block["insts"][-1] if block["insts"] else None
        if last and ends(last, noreturn):
            opcode, scope, on = last[1].split(".")[0], block["scope"], last[2] is not None
            if opcode == "bra":
                targets = [visible(labels, scope, last[5][-1])]
            elif opcode == "brx":
                table = visible(tables, scope, operands(" ".join(last[5]))[-1].strip())
                targets = [visible(labels, scope, t) for t in table]
            else:
                leaves, returns = True, opcode == "ret"
        exits = leaves or on and after is None
        if on and after is not None:
            targets.append(after)
        report.same(f"block {nth} succ", set(told["succ"]), set(targets))
        report.same(f"block {nth} exits", told["exits"], exits)
        own_results = results_of if returns or on and after is None else set()
        report.same(f"block {nth} returned", set(told["returned"]), own_results)
    insts = [i for b in own for i in b["insts"]]
    report.same("instructions", [(i["line"], i["mnemonic"], plain(i["guard"])) for i in function["insts"]],
                 [(i[0], i[1], i[2]) for i in insts])
    compared = 0
    if len(insts) == len(function["insts"]):
        for told, (line, mnemonic, guard, reads, writes, _) in zip(function["insts"], insts):
            if writes is None or not told["known"]:
                continue
            compared += 1
            always, maybe = (set(), writes) if guard else (writes, set())
            found = tuple(set(map(plain, told[k])) for k in ("reads", "writes", "cond_writes"))
            if found != (reads, always, maybe):
                report.same(f"line {line} {mnemonic}", found, (reads, always, maybe))
    return len(insts), compared


def functions_of_dump(output):
    """The functions with a body, each with its instructions in `insts`."""
    functions = []
    for record in map(json.loads, output.splitlines()):
        if "blocks" in record:
            functions.append(record | {"insts": []})
        elif "block" in record:
            words = [record["opcode"], *record["modifiers"]] if "opcode" in record else []
            mnemonic = ".".join(words) or None
            record |= {"line": record["span"]["line"], "mnemonic": mnemonic, "guard": record.get("guard")}
            functions[-1]["insts"].append(record)
    return functions


def check(job):
    program, path = job
    told = functions_of_dump(subprocess.run([program, "dump", "--analysis", path], capture_output=True, check=True).stdout)
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    bare = re.sub(r"//[^\n]*", "", text)
    noreturn = set(re.findall(r"\.func\s*([\w$]+)\s*\([^)]*\)\s*\.noreturn", bare))
    noreturn |= set(re.findall(r"([\w$]+)\s*:\s*\.callprototype[^;]*\.noreturn", bare))
    report = Report(path)
    bodies = [(f["name"], None, []) for f in told]
    if not os.path.basename(path).startswith(ODD):
        bodies = list(functions(text))
        report.same("functions", [f["name"] for f in told], [name for name, _, _ in bodies])
    total = compared = count = 0
    for function, (name, body, results) in zip(told, bodies):
        report.where = f"{path}: {name}"
        check_graph(function["blocks"], report)
        check_live(function["blocks"], function["insts"], report)
        if body is not None and all(i["known"] for i in function["insts"]):
            try:
                all_of, some = check_text(function, body, results, noreturn, report)
                total, compared = total + all_of, compared + some
            except (ValueError, LookupError) as error:
                report.found.append(f"{report.where}: not read: {error!r}")
        count += 1
    return report.found, count, total, compared


def main():
    arguments = sys.argv[1:]
    most, budget = 1 << 62, 1 << 62
    while "--most" in arguments:
        at = arguments.index("--most")
        most = int(arguments[at + 1])
        del arguments[at:at + 2]
    while "--total" in arguments:
        at = arguments.index("--total")
        budget = int(arguments[at + 1])
        del arguments[at:at + 2]
    program, files = arguments[0], []
    for name in arguments[1:]:
        if os.path.isdir(name):
            found = sorted(os.path.join(d, f) for d, _, all_of in os.walk(name) for f in all_of if f.endswith(".ptx"))
            files += [f for f in found if os.sep + "broken" + os.sep not in f and os.path.getsize(f) <= most]
        else:
            files.append(name)
    step = max(1, -(-sum(map(os.path.getsize, files)) // budget))
    files = files[::step]
    found, count, total, compared = [], 0, 0, 0
    with Pool(os.cpu_count()) as pool:
        for part in pool.map(check, [(program, f) for f in files], chunksize=4):
            found += part[0]
            count, total, compared = count + part[1], total + part[2], compared + part[3]
    for line in found[:40]:
        print(line)
    share = 100 * compared / max(total, 1)
    print(f"{len(files)} files, {count} functions; {compared} of {total} instructions ({share:.1f} %) also from the text; "
          f"{len(found)} differences")
    sys.exit(bool(found) or not count or share < 90)


if __name__ == "__main__":
    main()
