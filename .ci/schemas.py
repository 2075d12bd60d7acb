#!/usr/bin/env python3
"""Checks JSON outputs of `ptxkit` against the schemas in `docs/schema`.

    schemas.py PROGRAM FILE...

Keys that a schema does not list are errors, too. Needs the package `jsonschema`.
"""

import json
import pathlib
import subprocess
import sys

import jsonschema

FOLDER = pathlib.Path(__file__).parent.parent / "docs" / "schema"

VECADD = "corpus/compiled/nvcc/vecadd.lineinfo.sm_80.ptx"

# The arguments, and the schemas of the objects that are written.
COMMANDS = [
    (["callgraph", "--format", "json"], ["callgraph"]),
    (["cfg", "--format", "json"], ["cfg"]),
    (["check", "--format", "json"], ["check", "check-clean"]),
    (["clean", "--explain", "--json"], ["clean"]),
    (["dump"], ["dump"]),
    (["dump", "--format", "json"], ["dump"]),
    (["dump", "--analysis"], ["dump"]),
    (["diff", "--json", "--all"], ["diff"]),
    (["explain", "mma", "--format", "json"], ["explain"]),
    (["explain", "--fragments", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "--format", "json"], ["explain-fragments"]),
    (["gate", "--format", "json", "--no-config", "--max", "instructions=50"], ["check", "check-clean"]),
    (["grep", "*", "--json"], ["grep"]),
    (["grep", "*", "--json", "--count"], ["grep-count"]),
    (["grep", "*", "--json", "--list=functions"], ["grep-list"]),
    (["lint", "--format", "json"], ["check", "check-clean"]),
    (["list", "--json", "ptx-container/tests/data/k.a"], ["list"]),
    (["debug", "parse", "--json"], ["debug-parse"]),
    (["link", "--json"], ["link"]),
    (["fmt", "--check", "--json"], ["rewrite"]),
    (["retarget", "--json", "--target", "sm_50"], ["rewrite"]),
    (["debug", "roundtrip", "--json"], ["debug-roundtrip"]),
    (["run", "--format", "json", VECADD, "--kernel", "fill", "out:/dev/null:u8[8]", "u8:1", "u32:8"], ["run"]),
    (["run", "--format", "json", "--profile", VECADD, "--kernel", "fill", "u64:0", "u8:1", "u32:8"], ["run"]),
    (["run", "--format", "json", "--trace=thread:all", VECADD, "--kernel", "fill", "scratch:8", "u8:1", "u32:8"], ["run", "run-trace"]),
    (["report", "--format", "json"], ["report"]),
    (["requires", "--json"], ["requires"]),
    (["requires", "--json", "--target", "sm_50"], ["requires"]),
    (["source", "--json"], ["source"]),
    (["source", "--json", "--by", "source"], ["source-by-source"]),
    (["stats", "--json", "--mnemonics"], ["stats"]),
    (["debug", "tokens", "--json"], ["debug-tokens"]),
    (["debug", "tokens", "--json", "missing.ptx"], ["debug-tokens", "unreadable"]),
]


def closed(schema):
    """The schema without other keys than it lists."""
    if isinstance(schema, dict):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for inner in schema.values():
            closed(inner)
    elif isinstance(schema, list):
        for inner in schema:
            closed(inner)
    return schema


def validator(name):
    schema = closed(json.loads((FOLDER / f"{name}.json").read_text()))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def main():
    program, *files = sys.argv[1:]
    failures = 0
    for arguments, names in COMMANDS:
        validators = [validator(name) for name in names]
        chosen = {"explain": [], "list": [], "run": [], "diff": files[:2]}.get(arguments[0], files)
        output = subprocess.run([program, *arguments, *chosen], capture_output=True, text=True, check=False).stdout
        objects = [json.loads(line) for line in output.splitlines()]
        for value in objects:
            if any(v.is_valid(value) for v in validators):
                continue
            failures += 1
            if failures <= 20:
                error = next(validators[0].iter_errors(value))
                where = "/".join(map(str, error.absolute_path))
                print(f"{' '.join(arguments)}: {value.get('file')}: {where}: {error.message[:300]}")
        print(f"{' '.join(arguments)}: {len(objects)} objects")
        if not objects:
            print("  no output to check")
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
