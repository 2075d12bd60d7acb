// The scopes of the grammar against the lexer and the parser: `ptxkit debug tokens` and `ptxkit dump` on all files of the corpus.
const test = require("node:test");
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { spawnSync } = require("node:child_process");
const { load, scopes } = require("./textmate");

const root = path.join(__dirname, "../../../..");
const program = process.env.PTXKIT ?? path.join(root, "target/debug/ptxkit");
/** Files are left out from this size on, which are like the others. */
const largest = 60_000;

function files(folder) {
  return fs.readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) return files(name);
    return entry.name.endsWith(".ptx") && fs.statSync(path.join(root, name)).size < largest ? [name] : [];
  });
}

/** The records that a command writes about a file. */
function records(args, file) {
  const result = spawnSync(program, [...args, path.join(root, file)], { maxBuffer: 1 << 30, encoding: "utf8" });
  assert.ok(result.status !== null && result.status < 2, `${program} ${args.join(" ")} ${file}: ${result.error ?? result.stderr}`);
  return result.stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

/** The scopes that tokens of the lexer may have. */
const classes = {
  line_comment: /^(comment\.line|punctuation\.definition\.comment)/,
  block_comment: /^(comment\.block|punctuation\.definition\.comment)/,
  line_marker: /^meta\.preprocessor/,
  string: /^(string\.quoted|punctuation\.definition\.string)/,
  integer: /^constant\.numeric\.(integer|hex|binary)/,
  decimal: /^constant\.numeric\.float/,
  single: /^constant\.numeric\.float/,
  double: /^constant\.numeric\.float/,
  dot_word: /^(keyword\.other\.directive|storage\.(type|modifier)|entity\.name\.section|variable\.other\.property)/,
  ident: /^(variable\.|entity\.name\.(function|label)|constant\.language|support\.function|keyword\.(control\.opcode|other\.directive))/,
  punct: /^(punctuation\.|keyword\.operator|keyword\.control\.guard|variable\.language\.discard)/,
};

const isEmbedded = (all) => all.some((s) => s.startsWith("string.unquoted.embedded"));

test("every token of the corpus has the scope of its class", async () => {
  const grammar = await load();
  const wrong = [];
  let tokens = 0;
  for (const file of [...files("corpus/hand"), ...files("corpus/compiled")]) {
    const text = fs.readFileSync(path.join(root, file), "latin1");
    const parts = scopes(grammar, text);
    const at = new Map(parts.map(([start, , scope, all]) => [start, [scope, all]]));
    const report = (start, what, scope) => wrong.push(`${file}:${text.slice(0, start).split("\n").length}: ${what}: ${scope}`);
    const lexed = records(["debug", "tokens", "--json"], file).filter((t) => t.kind !== "whitespace");
    for (const { kind, span } of lexed) {
      tokens += 1;
      const [scope, all] = at.get(span.start) ?? ["inside of another token", []];
      if (isEmbedded(all) || isEmbedded(at.get(span.start)?.[1] ?? [])) continue;
      if (!classes[kind]?.test(scope)) report(span.start, `${kind} ${text.slice(span.start, span.end)}`, scope);
    }
    for (const [start, what, expected] of words(file, lexed)) {
      const [scope] = at.get(start) ?? [];
      if (!expected.test(scope)) report(start, what, scope);
    }
  }
  assert.ok(tokens > 100_000, `${tokens} tokens`);
  assert.deepStrictEqual(wrong.slice(0, 40), [], `${wrong.length} of ${tokens} tokens`);
});

/** Opcodes, modifiers, special registers and directives of a file, as the parser sees them: place, text and expected scope. */
function* words(file, lexed) {
  const starts = lexed.map((t) => t.span.start);
  for (const record of records(["dump", "--fields", "record,span,opcode,modifiers,guard,kind,name,directive"], file)) {
    if (!record.span) continue;
    let i = lowerBound(starts, record.span.start);
    if (record.record === "directive") {
      yield [starts[i], `directive ${record.directive}`, /^keyword\.other\.directive/];
    }
    if (record.record !== "instruction") continue;
    const next = (text) => {
      while (i < lexed.length && lexed[i].text !== text) i += 1;
      return i < lexed.length ? starts[i++] : undefined;
    };
    if (record.guard) while (lexed[i++].kind !== "ident");
    yield [next(record.opcode), `opcode ${record.opcode}`, /^(support\.function|keyword\.control)\.opcode/];
    for (const modifier of record.modifiers) yield [next(`.${modifier}`), `modifier ${modifier}`, /^storage\.(type|modifier)/];
    for (const { kind, name } of record.operands ?? []) {
      if (kind === "special") yield [next(name), `special register ${name}`, /^variable\.language\.special-register/];
    }
  }
}

function lowerBound(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

test("the scopes of sample.ptx are those of sample.scopes", async () => {
  const grammar = await load();
  const text = fs.readFileSync(path.join(__dirname, "sample.ptx"), "utf8");
  const lines = scopes(grammar, text)
    .filter(([start, end]) => text.slice(start, end).trim())
    .map(([start, end, scope]) => `${text.slice(start, end).trim().padEnd(24)} ${scope}`);
  const expected = path.join(__dirname, "sample.scopes");
  if (process.env.UPDATE) fs.writeFileSync(expected, lines.join("\n") + "\n");
  assert.deepStrictEqual(lines, fs.readFileSync(expected, "utf8").trimEnd().split("\n"));
});
