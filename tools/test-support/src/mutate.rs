//! Random changes that damage texts. Equal seeds give equal changes.

use ptx_ir::lex::{Lexer, TokenKind};

/// Random numbers.
pub struct Random(fastrand::Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// A number below `end`, or 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.usize(..end.max(1))
    }

    pub fn pick<'t, T>(&mut self, choices: &'t [T]) -> &'t T {
        &choices[self.below(choices.len())]
    }
}

/// Bytes that the lexer distinguishes.
const BYTES: &[u8] =
    b"\0\t\n\r\x0b\x0c !\"#$%&'()*+,-./0129:;<=>?@ABFU[\\]^_`abdefx{|}~\x7f\x80\xbf\xc3\xef\xff";

/// Tokens of every kind.
const TOKENS: &[&str] = &[
    "add",
    "ret",
    "%r1",
    "%r01",
    "%r4294967296",
    "$L",
    "_",
    "_x",
    "%",
    "$",
    "WARP_SZ",
    "%tid",
    "generic",
    ".global",
    ".reg",
    ".b32",
    ".v4",
    ".x",
    ".b0",
    ".h10",
    ".unified",
    ".entry",
    ".func",
    ".visible",
    ".extern",
    ".align",
    ".param",
    ".version",
    ".target",
    ".section",
    ".loc",
    ".pragma",
    ".branchtargets",
    ".callprototype",
    ".file",
    ".alias",
    ".maxntid",
    ".noreturn",
    ".attribute",
    ".managed",
    ".ptr",
    ".texref",
    ".shared::cluster",
    ".nonsense",
    ".",
    "..",
    "0",
    "1",
    "-1",
    "08",
    "0x",
    "0xFF",
    "0b1",
    "1.5",
    ".5",
    "1e",
    "0f3F800000",
    "0d0000000000000000",
    "18446744073709551616",
    "1U",
    "\"s\"",
    "\"",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ";",
    ":",
    "::",
    "=",
    "==",
    "+",
    "-",
    "*",
    "/",
    "<",
    ">",
    "<<",
    ">>",
    "!",
    "~",
    "&",
    "&&",
    "|",
    "||",
    "^",
    "?",
    "@",
    "@@DWARF",
    "#",
    "# 1 \"f\"\n",
    "//",
    "// c\n",
    "/*",
    "*/",
    "/* c */",
    "\n",
    "\u{feff}",
    "\u{e9}",
    "\0",
    "function_name",
    "inlined_at",
    "(.s64)",
    "<4294967295>",
    "<5>",
    "{}",
    "()",
    "[]",
    "[%r1+-4]",
    "0xFF(x)",
    "debug",
    "sm_90",
    "9.3",
    "1.0",
];

/// One random change of bytes.
pub fn bytes(text: &mut Vec<u8>, random: &mut Random) {
    let start = random.below(text.len() + 1);
    match random.below(7) {
        0 => text.insert(start, *random.pick(BYTES)),
        1 if start < text.len() => {
            text.remove(start);
        }
        2 if start < text.len() => text[start] = *random.pick(BYTES),
        3 if start < text.len() => text[start] ^= 1 << random.below(8),
        4 => {
            let end = (start + random.below(40)).min(text.len());
            text.drain(start..end);
        }
        5 => {
            let end = (start + random.below(40)).min(text.len());
            let piece = text[start..end].to_vec();
            let target = random.below(text.len() + 1);
            text.splice(target..target, piece);
        }
        _ => text.truncate(start),
    }
}

/// One random change of tokens: removes, duplicates, replaces or inserts some, or ends the text with another token.
pub fn tokens(text: &mut Vec<u8>, random: &mut Random) {
    let spans: Vec<(usize, usize)> = Lexer::new(text)
        .filter(|t| t.kind != TokenKind::Whitespace)
        .map(|t| (t.span.start as usize, t.span.end as usize))
        .collect();
    if spans.is_empty() {
        return bytes(text, random);
    }
    let (start, end) = *random.pick(&spans);
    let (other, other_end) = *random.pick(&spans);
    let piece = text[other..other_end].to_vec();
    match random.below(8) {
        0 => drop(text.drain(start..end)),
        1 => {
            let token = text[start..end].to_vec();
            text.splice(end..end, token);
        }
        2 => drop(text.splice(start..end, piece)),
        3 => drop(text.splice(start..start, piece)),
        4 => {
            let new = random.pick(TOKENS).bytes();
            text.splice(start..end, new);
        }
        5 => {
            let new = format!(" {} ", random.pick(TOKENS));
            text.splice(start..start, new.into_bytes());
        }
        6 => {
            text.truncate(start);
            text.extend(random.pick(TOKENS).bytes());
        }
        _ => {
            // All tokens between the two.
            let (first, last_end) = (start.min(other), end.max(other_end));
            if last_end - first < 400 {
                text.drain(first..last_end);
            }
        }
    }
}
