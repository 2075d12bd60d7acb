// Random changes of a text.

/** Numbers in [0, 1), the same ones for the same seed. */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

const PIECES = [
  "{", "}", ";", '"', "/*", "*/", "//", "\n", " ", ",", "(", "[", "]", ".", "%r1", "é", "😀", "1",
  "add.s32 %r1, %r2, 3;\n", "    bra L1;\n", "X: ", ".reg .b32 %q<3>;\n", ".entry", "call f;", "mov.u32 %r1, %tid.x;\n",
];

/** A line and a column in UTF-16 for an offset. */
export function position(text, offset) {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length - 1, character: offset - (before.lastIndexOf("\n") + 1) };
}

/** Not between the two halves of a character. */
function boundary(text, offset) {
  const unit = text.charCodeAt(offset);
  return unit >= 0xdc00 && unit < 0xe000 ? offset - 1 : offset;
}

/** A change as the protocol has it, and the new text. */
export function randomChange(text, random) {
  const below = (limit) => Math.floor(random() * limit);
  const start = boundary(text, below(text.length + 1));
  const end = boundary(text, Math.min(text.length, start + (random() < 0.4 ? below(8) : 0)));
  const piece = random() < 0.3 ? "" : PIECES[below(PIECES.length)];
  const range = { start: position(text, start), end: position(text, end) };
  return { change: { range, text: piece }, text: text.slice(0, start) + piece + text.slice(end) };
}
