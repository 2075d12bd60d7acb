#!/usr/bin/env python3
"""Ask the real ptxas about every .ptx file of this folder and write INDEX.tsv.

usage: index.py PTXAS [--check] [--jobs N]

Columns: path, bytes, .version, .target, ptxas version, arch used, verdict (parse and check only), verdict with code
generation (`ok`, `ok -c` when only a relocatable object can be made, `error`, `-` when not asked), first message.
--check also fails when a file of compiled/ or hand/ is refused, or when a file of broken/ is accepted or refused on
another line than its first comment line says.  Answers are cached by content in the system's temporary folder.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CODEGEN_LIMIT = 400_000  # larger files are only parsed: code generation would take minutes
KNOWN = ("75 80 86 87 88 89 90 90a 100 100a 100f 103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f").split()
COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)
EXPECT = re.compile(r"// error on line (\d+)(?: \(ptxas: line (\d+|-)\))?: (.+)")


def header(data):
    """The texts after .version and .target, comments removed."""
    text = COMMENT.sub(b" ", data[:20_000])
    version = re.search(rb"\.version\s+([0-9.]+)", text)
    target = re.search(rb"\.target\s+([^\s,;]+(?:\s*,\s*[^\s,;]+)*)", text)
    return (version.group(1).decode("latin-1") if version else "-",
            re.sub(r"\s*,\s*", ", ", target.group(1).decode("latin-1")) if target else "-")


def arch_of(target):
    m = re.match(r"(?:sm|compute)_(\d+[af]?)", target)
    if m and m.group(1) in KNOWN:
        return m.group(1)
    if m and int(re.sub(r"\D", "", m.group(1))) < 75:
        return "75"
    return "90"


def run(ptxas, *args):
    p = subprocess.run([ptxas, *args], capture_output=True, timeout=600)
    return p.returncode, (p.stdout + p.stderr).decode("latin-1")


def first_message(text):
    """(line or None, text) of the first error, else of the first warning."""
    for kind in (r"error|fatal", r"warning"):
        for line in text.split("\n"):
            m = re.match(r"ptxas \S+, line (\d+); (?:%s)\s*: (.*)" % kind, line)
            if m:
                return int(m.group(1)), ("warning: " if kind == "warning" else "") + m.group(2)
            m = re.match(r"ptxas (?:\S+ )?(?:%s)\s*: (.*)" % kind, line)
            if m:
                return None, ("warning: " if kind == "warning" else "") + m.group(1)
    return None, ""


def judge(ptxas, path, data):
    version, target = header(data)
    arch = arch_of(target)
    with tempfile.TemporaryDirectory() as tmp:
        f = Path(tmp) / path.name
        f.write_bytes(data)
        name = str(f)
        code, out = run(ptxas, f"-arch=compute_{arch}", name)
        if code and "--compile-only" in out:
            code, out = run(ptxas, f"-arch=compute_{arch}", "-c", name)
        verdict = "error" if code else "ok"
        line, text = first_message(out)
        codegen = "-"
        if len(data) <= CODEGEN_LIMIT and "broken" not in path.parts:
            obj = str(Path(tmp) / "o.cubin")
            code, out2 = run(ptxas, f"-arch=sm_{arch}", name, "-o", obj)
            codegen = "error" if code else "ok"
            if code and verdict == "ok":
                code, _ = run(ptxas, f"-arch=sm_{arch}", "-c", name, "-o", obj)
                if not code:
                    codegen = "ok -c"
            if codegen != "ok" and verdict == "ok":
                line, text = first_message(out2)
        text = text.replace(name, path.name).replace(tmp, "")
        text = re.sub(r"[^ -~]", "?", text)
    message = (f"line {line}: " if line else "") + text
    return [version, target, f"compute_{arch}", verdict, codegen, message]


def main():
    args = sys.argv[1:]
    check = "--check" in args
    jobs = int(args[args.index("--jobs") + 1]) if "--jobs" in args else 1
    ptxas = args[0]
    release = re.search(r"release ([0-9.]+)", run(ptxas, "--version")[1]).group(1)
    cache_file = Path(tempfile.gettempdir()) / "ptx-corpus-index.json"
    cache = json.loads(cache_file.read_text()) if cache_file.exists() else {}
    files = sorted(p for d in ("compiled", "hand", "broken") for p in (HERE / d).rglob("*.ptx"))
    rows, bad, fresh = [], 0, {}

    def one(p):
        data = p.read_bytes()
        rel = p.relative_to(HERE)
        key = hashlib.sha256(f"3 {release} {rel}\0".encode() + data).hexdigest()
        ans = cache.get(key) or judge(ptxas, rel, data)
        fresh[key] = ans
        return rel, data, ans

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for rel, data, (version, target, arch, verdict, codegen, message) in pool.map(one, files):
            rows.append([str(rel), str(len(data)), version, target, release, arch, verdict, codegen, message])
            problem = ""
            if rel.parts[0] == "broken":
                m = EXPECT.search(data[:4000].decode("latin-1"))
                at = re.match(r"line (\d+):", message)
                want = (m.group(2) or m.group(1)) if m else None
                if not m:
                    problem = "no expectation"
                elif verdict == "ok":
                    problem = "accepted"
                elif want != (at.group(1) if at else "-"):
                    problem = f"expected line {want}"
            elif verdict != "ok":
                problem = "refused"
            elif codegen == "error":
                problem = "no code generation" if "checked only" not in data[:4000].decode("latin-1") else ""
            if problem:
                bad += 1
                print(f"{rel}: {problem}: {message}")
    cache_file.write_text(json.dumps(fresh))
    head = "path\tbytes\tversion\ttarget\tptxas\tarch\tverdict\tcodegen\tmessage\n"
    (HERE / "INDEX.tsv").write_text(head + "".join("\t".join(r) + "\n" for r in rows))
    print(f"{len(rows)} files, {sum(int(r[1]) for r in rows)} bytes, {bad} surprises")
    sys.exit(1 if check and bad else 0)


main()
