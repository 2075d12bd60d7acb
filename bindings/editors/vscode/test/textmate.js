// Applies the TextMate grammar to a text, as editors do.
const fs = require("node:fs");
const path = require("node:path");
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

async function load() {
  await oniguruma.loadWASM(fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")));
  const file = path.join(__dirname, "../syntaxes/ptx.tmLanguage.json");
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(fs.readFileSync(file, "utf8"), file),
  });
  return registry.loadGrammar("source.ptx");
}

/** The innermost scope of each part of a text: `[start, end, scope]`, in the order of the text. */
function scopes(grammar, text) {
  const found = [];
  let state = textmate.INITIAL;
  let start = 0;
  for (const line of text.split("\n")) {
    const result = grammar.tokenizeLine(line, state);
    for (const token of result.tokens) {
      const inner = token.scopes.filter((s) => !s.startsWith("meta.instruction"));
      found.push([start + token.startIndex, start + Math.min(token.endIndex, line.length), inner.at(-1), inner]);
    }
    state = result.ruleStack;
    start += line.length + 1;
  }
  return found;
}

module.exports = { load, scopes };
