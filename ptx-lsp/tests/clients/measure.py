"""Measures `ptxkit lsp` on a large file: measure.py PTXKIT FILE [KEYSTROKES]. Prints medians and maxima; asserts nothing."""

import json
import os
import select
import statistics
import subprocess
import sys
import time

program, path = sys.argv[1:3]
count = int(sys.argv[3]) if len(sys.argv) > 3 else 50
text = open(path).read()
uri = "file:///large.ptx"
server = subprocess.Popen([program, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
last_id = 0


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    server.stdin.flush()


def read():
    length = 0
    while line := server.stdout.readline().strip():
        length = int(line.split(b":")[1])
    return json.loads(server.stdout.read(length))


def request(method, params):
    global last_id
    last_id += 1
    start = time.perf_counter()
    send({"id": last_id, "method": method, "params": params})
    while (answer := read()).get("id") != last_id:
        pass
    return (time.perf_counter() - start) * 1000, answer.get("result")


def memory(key):
    status = open(f"/proc/{server.pid}/status").read()
    return int(next(l for l in status.splitlines() if l.startswith(key)).split()[1]) * 1024


def show(what, times):
    times = sorted(times)
    print(f"{what:34} median {statistics.median(times):7.1f} ms   95 % {times[int(len(times) * 0.95)]:7.1f} ms   max {times[-1]:7.1f} ms")


request("initialize", {"capabilities": {"general": {"positionEncodings": ["utf-8"]}}})
start = time.perf_counter()
send({"method": "textDocument/didOpen", "params": {"textDocument": {"uri": uri, "languageId": "ptx", "version": 1, "text": text}}})
opened = read()
print(f"{'open':34} {(time.perf_counter() - start) * 1000:14.1f} ms, {len(opened['params']['diagnostics'])} diagnostics, {len(text) / 1e6:.1f} MB")
print(f"{'memory after opening':34} {memory('VmRSS') / len(text):14.1f} bytes per byte, peak {memory('VmHWM') / len(text):.1f}, without the program {memory('RssAnon') / len(text):.1f}")

start = time.perf_counter()
while select.select([server.stdout], [], [], 3)[0]:
    opened, linted = read(), time.perf_counter()
    print(f"{'diagnostics with lints':34} {(linted - start) * 1000:14.1f} ms later, {len(opened['params']['diagnostics'])} diagnostics")
print(f"{'memory after linting':34} {memory('VmRSS') / len(text):14.1f} bytes per byte, peak {memory('VmHWM') / len(text):.1f}, without the program {memory('RssAnon') / len(text):.1f}")

lines = text.split("\n")
instructions = [i for i, l in enumerate(lines) if l.endswith(";") and l.lstrip().startswith(("add", "mov", "ld", "st", "setp"))]
version = 1
keys, completions, names, hovers, tokens = [], [], [], [], []
typed = "add.s32"
for n in range(count):
    line = instructions[(n + 1) * len(instructions) // (count + 2)]
    end = len(lines[line])
    for i, key in enumerate("\n" + typed):
        at = {"line": line if i == 0 else line + 1, "character": end if i == 0 else i - 1}
        version += 1
        start = time.perf_counter()
        change = {"range": {"start": at, "end": at}, "text": key}
        send({"method": "textDocument/didChange", "params": {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}})
        while (found := read()).get("params", {}).get("version") != version:
            pass
        keys.append((time.perf_counter() - start) * 1000)
        place = {"textDocument": {"uri": uri}, "position": {"line": line + 1, "character": i}}
        if i in (1, 4):
            took, answer = request("textDocument/completion", place)
            completions.append(took)
            assert answer["items"]
    version += 1
    whole = {"start": {"line": line, "character": end}, "end": {"line": line + 1, "character": len(typed)}}
    send({"method": "textDocument/didChange", "params": {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"range": whole, "text": ""}]}})
    while read()["params"]["version"] != version:
        pass
    here = {"textDocument": {"uri": uri}, "position": {"line": line, "character": len(lines[line]) - 2}}
    hovers.append(request("textDocument/hover", here)[0])
    names.append(request("textDocument/definition", here)[0])
    view = {"start": {"line": max(line - 30, 0), "character": 0}, "end": {"line": line + 30, "character": 0}}
    tokens.append(request("textDocument/semanticTokens/range", {"textDocument": {"uri": uri}, "range": view})[0])
show("diagnostics after a keystroke", keys)
show("completion", completions)
show("hover", hovers)
show("definition", names)
show("semantic tokens of a screen", tokens)
for method in ["documentSymbol", "foldingRange", "codeLens", "semanticTokens/full"]:
    show(method, [request(f"textDocument/{method}", {"textDocument": {"uri": uri}})[0]])
print(f"{'memory at the end':34} {memory('VmRSS') / len(text):14.1f} bytes per byte, peak {memory('VmHWM') / len(text):.1f}, without the program {memory('RssAnon') / len(text):.1f}")
request("shutdown", None)
send({"method": "exit"})
server.wait()
