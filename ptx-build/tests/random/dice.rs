//! Choices that follow from one number, so that a failing sequence of calls shrinks to the calls that matter.

use ptx_build::Number;
use ptx_isa::ScalarType as T;

pub(crate) struct Dice(fastrand::Rng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n.max(1))
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn of<'t, X>(&mut self, all: &'t [X]) -> &'t X {
        &all[self.below(all.len())]
    }

    pub(crate) fn maybe<'t, X>(&mut self, all: &'t [X]) -> Option<&'t X> {
        (!all.is_empty()).then(|| self.of(all))
    }

    /// A name, mostly one that can be used, often one that is in use or that the builder would make itself.
    pub(crate) fn name(&mut self) -> String {
        const GOOD: &[&str] = &[
            "x", "y", "table", "f", "g", "h", "k", "a0", "a1", "a", "%r", "%r1", "%r2", "%r7",
            "%rd1", "%f1", "%p1", "%p", "$L_1", "$L_2", "$L_3", "param0", "param1", "retval0",
            "retval1", "_x", "abs", "add", "ret", "tid", "sm_80", "debug", "func", "generic", "x1",
            "x01", "%r01", "b32",
        ];
        const ODD: &[&str] = &[
            "", " ", "a b", "é", "naïve", "1x", "_", "__", "%", "$", "%%", "a.b", ".reg", "a;b",
            "x//", "/*x", "x\n", "\n", "\0", "%tid", "%tid.x", "%laneid", "%envreg1", "%clock",
            "WARP_SZ", "a\"b", "a\\b", "x<4>", "x[4]", "{", "}", "(x)", "@x", "x:", "日本", "+",
            "-x",
        ];
        match self.below(12) {
            0 => self.of(ODD).to_string(),
            1 => format!("n{}", self.below(1000)),
            2 if self.one_in(20) => "long".repeat(300),
            _ => self.of(GOOD).to_string(),
        }
    }

    /// Text for strings, comments and items.
    pub(crate) fn text(&mut self) -> String {
        const TEXTS: &[&str] = &[
            "",
            "nounroll",
            "noreturn",
            "a.cu",
            "über.cu",
            "a \"b\" c",
            "a\nb",
            "*/",
            "/*",
            "// x",
            "\\",
            "\r",
            "\0",
            ";",
            "}",
            "{",
            ".version 8.0",
            ".target sm_90",
            ".reg .b32 x;",
            ".global .b32 x;",
            ".global .b32 table[4] = {1, 2, 3, 4, 5};",
            ".visible .entry k() { ret; }",
            ".func f;",
            ".extern .func g;",
            ".section .debug_str { .b8 1 }",
            ".address_size 32",
            "add.s32 %r1, %r1, 1;",
            "@p bra x;",
            "$M_1:",
            "# 1 \"a\"",
            "x",
            "日本",
            "( [ {",
            "used_bytes_mask 0xff",
            "global x",
        ];
        match self.below(6) {
            0 => {
                const BITS: &[&str] = &[
                    ".",
                    "%",
                    "$",
                    "r1",
                    "{",
                    "}",
                    "(",
                    ")",
                    "[",
                    "]",
                    ";",
                    ",",
                    ":",
                    " ",
                    "\n",
                    "0x1F",
                    "1.5",
                    "0f3F800000",
                    "add",
                    ".s32",
                    ".global",
                    ".reg",
                    ".b32",
                    "x",
                    "\"",
                    "@",
                    "!",
                    "|",
                    "<",
                    "4",
                    ">",
                    "=",
                    "+",
                    "-",
                    "_",
                    "é",
                    "\u{0}",
                    "//",
                    "/*",
                    "*/",
                ];
                (0..self.below(12)).map(|_| *self.of(BITS)).collect()
            }
            _ => self.of(TEXTS).to_string(),
        }
    }

    pub(crate) fn ty(&mut self) -> T {
        const TYPES: &[T] = &[
            T::Pred,
            T::B8,
            T::B16,
            T::B32,
            T::B32,
            T::B32,
            T::B64,
            T::B64,
            T::B128,
            T::U8,
            T::S16,
            T::U32,
            T::S32,
            T::U64,
            T::S64,
            T::F16,
            T::F16x2,
            T::Bf16,
            T::F32,
            T::F32,
            T::F64,
            T::Texref,
            T::Samplerref,
            T::Surfref,
            T::E4m3,
            T::Tf32,
            T::B1,
        ];
        *self.of(TYPES)
    }

    /// A type that registers have.
    pub(crate) fn plain(&mut self) -> T {
        *self.of(&[
            T::Pred,
            T::B16,
            T::B32,
            T::B32,
            T::B64,
            T::B64,
            T::F32,
            T::F64,
            T::U32,
            T::B128,
        ])
    }

    pub(crate) fn int(&mut self) -> i64 {
        match self.below(8) {
            0 => *self.of(&[
                i64::MIN,
                i64::MAX,
                -1,
                i64::from(i32::MAX) + 1,
                i64::from(i32::MIN) - 1,
                1 << 40,
            ]),
            1 => -(self.below(100) as i64),
            _ => self.below(64) as i64,
        }
    }

    pub(crate) fn constant(&mut self) -> String {
        const CONSTANTS: &[&str] = &[
            "0x10",
            "1.5",
            "4*8",
            "0f3F800000",
            "0d3FF0000000000000",
            "-1",
            "~0",
            "!0",
            "1?2:3",
            "(1+2)*3",
            "16",
            "1U",
            "1 + 2",
            "",
            "x",
            "1+",
            "0x",
            "1/0",
            "--1",
            "99999999999999999999",
            "1;",
            "1 /* */",
            "1//",
            "'a'",
            "(1",
            "é",
            "0f3F8",
            "1e400",
            "1<<70",
            "1,2",
            "%r1",
            "0b12",
            "08",
            " 1",
            "1 ",
            "1\n",
        ];
        self.of(CONSTANTS).to_string()
    }

    pub(crate) fn number(&mut self) -> Number {
        match self.below(6) {
            0 => Number::from(self.constant().as_str()),
            1 => Number::from(self.int()),
            _ => Number::from(*self.of(&[1u32, 2, 4, 8, 16, 3, 0, 64, 256])),
        }
    }
}
