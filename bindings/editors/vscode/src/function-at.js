// Finds the function around a line, without a language server.

// Linkage, attributes, `.entry` or `.func`, results, and the name.
const header =
  /^[ \t]*(?:\.(?:visible|extern|weak|common)\s+|\.attribute\s*\([^)]*\)\s*)*\.(?:entry|func)\b\s*(?:\.attribute\s*\([^)]*\)+\s*)?(?:\([^)]*\)\s*)?([A-Za-z][\w$]*|[_$%][\w$]+)/gm;

/** The name of the last function that begins at or before `line`, counted from 0; `undefined` where none does. */
function functionAt(text, line) {
  let offset = 0;
  for (let i = 0; i <= line && offset >= 0; i += 1) offset = text.indexOf("\n", offset) + 1 || -1;
  const end = offset < 0 ? text.length : offset;
  let name;
  for (const found of text.matchAll(header)) {
    if (found.index >= end) break;
    name = found[1];
  }
  return name;
}

module.exports = { functionAt };
