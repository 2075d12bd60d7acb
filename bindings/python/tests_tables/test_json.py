"""The rows are what the program writes as JSON."""

import csv
import json
import subprocess

import pyarrow as pa
import pytest

import ptxkit


def rows(small, table):
    return pa.table(ptxkit.scan(small, [table])).to_pylist()


def lines(program, small, *arguments):
    out = subprocess.run([program, *arguments, *map(str, small)], capture_output=True, text=True)
    assert out.returncode in (0, 1), out.stderr
    return [json.loads(line) for line in out.stdout.splitlines()]


def same(found, wanted):
    """Compares the columns that `wanted` has."""
    assert len(found) == len(wanted) > 0
    for row, expected in zip(found, wanted):
        assert {key: row[key] for key in expected} == expected


def frame(source):
    first = source[0] if source else {}
    names = ("file", "line", "column", "function")
    return {f"source_{name}": first.get(name) for name in names}


def statements(program, small):
    """The instructions and unrecognized statements of functions that `dump` writes, with their files and functions."""
    functions, file = {}, None
    for record in lines(program, small, "dump"):
        kind = record["record"]
        if kind == "file":
            file, functions = record["file"], {}
        elif kind == "function":
            functions[record["id"]] = record["name"]
        elif kind in ("instruction", "unrecognized") and record["function"] is not None:
            yield file, functions[record["function"]], record


def test_instructions(program, small):
    wanted = []
    for file, function, record in statements(program, small):
        row = {"file": file, "function": function, "function_id": record["function"]}
        row |= {key: record["span"][key] for key in ("start", "end", "line", "column")}
        keys = ("reads", "writes", "cond_writes", "side_effects", "known", "inline_asm")
        row |= {key: record[key] for key in keys} | frame(record["source"])
        row |= {key: record.get(key) for key in ("opcode", "modifiers", "guard")}
        wanted.append(row)
    same(rows(small, "instructions"), wanted)


def test_instructions_in_blocks(program, small):
    wanted = []
    for record in lines(program, small, "dump", "--analysis"):
        if "blocks" in record:
            function = record["name"]
            blocks = {block["id"]: block for block in record["blocks"]}
        elif "block" in record:
            block = blocks[record["block"]]
            words = [record["opcode"], *record["modifiers"]] if "opcode" in record else []
            row = {"function": function, "line": record["span"]["line"], "mnemonic": ".".join(words) or None}
            row |= {key: block[key] for key in ("reachable", "loop_depth", "loop_header")}
            wanted.append(row | {"block": record["block"]})
    same(rows(small, "instructions"), wanted)


def test_operands(program, small):
    wanted = {}
    for hit in lines(program, small, "grep", "--json", "*"):
        wanted[hit["file"], hit["line"], hit["column"]] = hit["operands"]
    found = [row for row in rows(small, "instructions") if row["mnemonic"]]
    assert len(wanted) > 1000
    for row in found:
        assert row["operands"] == wanted[row["file"], row["line"], row["column"]]


def test_memory(program, small):
    wanted = []
    for file, function, record in statements(program, small):
        for index, access in enumerate(record["memory"]):
            keys = ("start", "line")
            row = {"file": file, "function": function, "index": index, "opcode": record.get("opcode")}
            wanted.append(row | access | {key: record["span"][key] for key in keys})
    same(rows(small, "memory"), wanted)


def test_blocks(program, small):
    wanted = []
    for record in lines(program, small, "dump", "--analysis", "--fields", "file,name,blocks"):
        if record["record"] == "file":
            file = record["file"]
        for block in record.get("blocks", []):
            row = {"file": file, "function": record["name"], "block": block.pop("id")}
            del block["trip_count"], block["uniform"]  # not in the tables
            wanted.append(row | block)
    same(rows(small, "blocks"), wanted)


def test_functions_and_loops(program, small):
    functions, loops = [], []
    for file in lines(program, small, "stats", "--json"):
        if file["kind"] == "total":
            continue
        for of in file["per_function"]:
            row = {"file": file["file"], "function": of["name"]}
            for loop in of["loop_list"]:
                keys = ("header", "parent", "label", "line", "depth", "blocks", "total_instructions")
                keys += ("instructions", "barriers", "calls")
                loops.append(row | {key: loop[key] for key in keys})
            keys = ("demangled", "kind", "instructions", "barriers", "calls", "blocks", "loops")
            keys += ("loop_depth", "shared_bytes", "local_bytes")
            row |= {key: of[key] for key in keys}
            row["max_b32_units"] = of["pressure"]["max_b32_units"]
            row |= {f"max_{key}": n for key, n in of["pressure"]["by_class"].items() if key != "b8"}
            row["requires"] = [f"{pair['target']} {pair['ptx']}" for pair in of["requires"]]
            row["callees"] = [callee["name"] for callee in of["callees"] if callee["name"]]
            row["params"] = [f"{p['type']} {p['name'] or '_'}" for p in of["params"]]
            row["tensor_core_arithmetic"] = of["tensor_core"]["arithmetic"]
            functions.append(row)
    same(rows(small, "functions"), functions)
    same(rows(small, "loops"), loops)


def test_modules(program, small):
    wanted = []
    for file in lines(program, small, "stats", "--json"):
        if file["kind"] == "total":
            continue
        keys = ("file", "bytes", "lines", "errors", "warnings", "statements", "instructions", "labels")
        row = {key: file[key] for key in keys} | file["header"] | file["functions"]
        wanted.append(row | {f"{space}_bytes": n for space, n in file["memory"].items()})
    same(rows(small, "modules"), wanted)


def test_diagnostics(program, small):
    wanted = []
    for finding in lines(program, small, "check", "--format", "json"):
        if finding["code"]:
            keys = ("file", "code", "severity", "message", "help", "function")
            wanted.append({key: finding[key] for key in keys} | finding["span"])
    same(rows(small, "diagnostics"), wanted)


def test_requirements(program, small):
    wanted = []
    for file in lines(program, small, "requires", "--json"):
        keys = ("target", "ptx", "toolkit", "driver")
        def add(of, pairs, **row):
            for pair in pairs:
                wanted.append({"file": file["file"], "of": of, **row, **{k: pair.get(k) for k in keys}})
        add("module", file["minimal"], function=None, what=None)
        for function in file["functions"]:
            add("function", function["minimal"], function=function["name"])
        for reason in file["reasons"]:
            place = {key: reason[key] for key in ("what", "line", "column", "count")}
            add("reason", reason["minimal"], **place)
    same(rows(small, "requirements"), wanted)


def from_csv(row, wanted):
    """A row of text with the types of another row. Python's reader makes no difference between nothing and an empty text."""
    def value(text, like):
        if isinstance(like, (bool, int, list)):
            return json.loads(text)
        if text[:1] == "'" and text[1:2] in tuple("=+-@\t\r"):
            # A text that a spreadsheet would take for a formula.
            text = text[1:]
        return like if like is None and text == "" else text

    assert list(row) == list(wanted)
    return {key: value(row[key], wanted[key]) for key in wanted}


@pytest.mark.parametrize("format", ["ndjson", "csv", "parquet", "arrow"])
def test_program(program, small, format, tmp_path):
    """`ptxkit table` writes the same rows."""
    import pyarrow.parquet as pq

    tables = ["instructions", "memory", "functions", "diagnostics"]
    options = [option for table in tables for option in ("--table", table)]
    command = [program, "table", *options, "--format", format, "--output", tmp_path, "no such file.ptx"]
    out = subprocess.run([*command, *small], capture_output=True, text=True)
    assert out.returncode == 2 and "1 file or part of a file cannot be read" in out.stderr
    for table in tables:
        path = next(tmp_path.glob(f"{table}.*"))
        if format == "ndjson":
            found = [json.loads(line) for line in path.read_text().splitlines()]
        elif format == "csv":
            found = list(csv.DictReader(path.open(newline="")))
            wanted = rows(["no such file.ptx", *small], table)
            found = [from_csv(*pair) for pair in zip(found, wanted, strict=True)]
        elif format == "parquet":
            found = pq.read_table(path).to_pylist()
        else:
            found = pa.ipc.open_stream(path).read_all().to_pylist()
        assert found == rows(["no such file.ptx", *small], table)
