//! Random kernels of integer instructions and loops.

use std::fmt::Write as _;

struct Writer {
    random: fastrand::Rng,
    text: String,
    labels: u32,
    /// Registers that the loops around count with.
    reserved: Vec<u32>,
}

/// A kernel of a seed.
pub(crate) fn kernel(seed: u64) -> String {
    let mut writer = Writer {
        random: fastrand::Rng::with_seed(seed),
        text: String::from(
            ".version 8.5\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 s[1024];\n\
             .visible .entry k(.param .u64 .ptr .global .align 16 p, .param .u32 n, .param .u32 m)",
        ),
        labels: 0,
        reserved: Vec::new(),
    };
    if seed.is_multiple_of(3) {
        writer.text += " .maxntid 256";
    }
    writer.text += "\n{\n.reg .b32 %r<10>;\n.reg .b64 %d<6>;\n.reg .b16 %h<4>;\n.reg .pred %p<4>;\n.reg .b32 %t;\n.reg .b64 %u;\n";
    for line in [
        "ld.param.u64 %d0, [p];",
        "ld.param.u32 %r0, [n];",
        "ld.param.s32 %r1, [m];",
        "mov.u32 %r2, %tid.x;",
        "mov.u32 %r3, %ctaid.x;",
        "mov.u32 %r4, %ntid.x;",
        "mov.u32 %r5, %tid.y;",
        "mov.u32 %r6, %laneid;",
        "mov.u32 %r7, s;",
        "mad.lo.s32 %r8, %r3, %r4, %r2;",
        "mov.b32 %r9, 3;",
        "cvt.u64.u32 %d1, %r8;",
        "mul.wide.s32 %d2, %r8, 4;",
        "add.s64 %d3, %d0, %d2;",
        "mov.b64 %d4, 64;",
        "cvta.shared.u64 %d5, %d4;",
        "cvt.u16.u32 %h0, %r2;",
        "mov.b16 %h1, 7;",
        "mov.b16 %h2, -1;",
        "mov.b16 %h3, 1;",
        "setp.lt.u32 %p0, %r2, 8;",
        "setp.eq.s32 %p1, %r5, 0;",
        "setp.ne.s32 %p2, %r6, 1;",
        "setp.gt.s32 %p3, %r0, 4;",
    ] {
        writer.text.push_str(line);
        writer.text.push('\n');
    }
    writer.block(3, 12);
    writer.text += "ret;\n}\n";
    writer.text
}

impl Writer {
    fn below(&mut self, n: u32) -> u32 {
        self.random.u32(..n)
    }

    fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        let n = self.below(all.len() as u32);
        all[n as usize]
    }

    fn constant(&mut self) -> String {
        let n = self.below(8);
        match n {
            0 => (1u32 << self.below(16)).to_string(),
            1 => format!("-{}", 1 + self.below(9)),
            2 => ((1u32 << self.below(12)) - 1).to_string(),
            3 => format!("-{}", 1u32 << self.below(8)),
            4 => self.random.u32(..).to_string(),
            _ => self.below(20).to_string(),
        }
    }

    fn source(&mut self, class: &str, count: u32) -> String {
        match self.below(3) {
            0 => self.constant_of(class),
            _ => format!("%{class}{}", self.below(count)),
        }
    }

    fn constant_of(&mut self, class: &str) -> String {
        match class {
            "h" => (self.below(300) as i32 - 100).to_string(),
            _ => self.constant(),
        }
    }

    fn target(&mut self) -> u32 {
        loop {
            let n = self.below(10);
            if !self.reserved.contains(&n) {
                return n;
            }
        }
    }

    fn block(&mut self, depth: u32, length: u32) {
        for _ in 0..1 + self.below(length) {
            match self.below(12) {
                0 if depth > 0 => self.branch(depth),
                1 if depth > 0 => self.repeat(depth),
                2 => self.wide(),
                3 => self.short(),
                4 => self.condition(),
                5 => self.double(),
                6 => self.access(),
                _ => self.word(),
            }
        }
    }

    fn guard(&mut self) -> String {
        match self.below(6) {
            0 => format!("@%p{} ", self.below(4)),
            1 => format!("@!%p{} ", self.below(4)),
            _ => String::new(),
        }
    }

    fn word(&mut self) {
        let (guard, to) = (self.guard(), self.target());
        let [a, b, c] = core::array::from_fn(|_| self.source("r", 10));
        let n = self.below(33);
        let line = match self.below(16) {
            0..3 => format!("add.{} %r{to}, {a}, {b};", self.pick(&["s32", "u32"])),
            3 => format!("sub.s32 %r{to}, {a}, {b};"),
            4 => format!("mul.lo.{} %r{to}, {a}, {b};", self.pick(&["s32", "u32"])),
            5 => format!("mad.lo.s32 %r{to}, {a}, {b}, {c};"),
            6 => format!("shl.b32 %r{to}, {a}, {n};"),
            7 => format!("shr.{} %r{to}, {a}, {n};", self.pick(&["s32", "u32"])),
            8 => format!("{}.b32 %r{to}, {a}, {b};", self.pick(&["and", "or", "xor"])),
            9 => format!("{}.s32 %r{to}, {a}, {b};", self.pick(&["min", "max"])),
            10 => format!("selp.b32 %r{to}, {a}, {b}, %p{};", self.below(4)),
            11 => format!("neg.s32 %r{to}, {a};"),
            12 => format!("cvt.u32.u64 %r{to}, %d{};", self.below(6)),
            13 => {
                let ty = self.pick(&["u16", "s16", "u8", "s8"]);
                format!(
                    "cvt.{}.{ty} %r{to}, %h{};",
                    self.pick(&["u32", "s32"]),
                    self.below(4)
                )
            }
            14 => {
                let (operation, ty) = (self.pick(&["div", "rem"]), self.pick(&["s32", "u32"]));
                format!("{operation}.{ty} %r{to}, {a}, {};", 1 + self.below(40))
            }
            _ => format!(
                "bfe.{} %r{to}, {a}, {}, {};",
                self.pick(&["s32", "u32"]),
                self.below(32),
                self.below(33)
            ),
        };
        let _ = writeln!(self.text, "{guard}{line}");
    }

    fn double(&mut self) {
        let (guard, to) = (self.guard(), 1 + self.below(5));
        let [a, b] = core::array::from_fn(|_| self.source("d", 6));
        let n = self.below(65);
        let line = match self.below(8) {
            0..2 => format!("add.s64 %d{to}, {a}, {b};"),
            2 => format!("sub.s64 %d{to}, {a}, {b};"),
            3 => format!("mul.lo.s64 %d{to}, {a}, {b};"),
            4 => format!("shl.b64 %d{to}, {a}, {n};"),
            5 => format!("shr.{} %d{to}, {a}, {n};", self.pick(&["s64", "u64"])),
            6 => format!("{}.b64 %d{to}, {a}, {b};", self.pick(&["and", "or", "xor"])),
            _ => format!("cvta.to.shared.u64 %d{to}, %d{};", self.below(6)),
        };
        let _ = writeln!(self.text, "{guard}{line}");
    }

    fn wide(&mut self) {
        let to = 1 + self.below(5);
        let [a, b] = core::array::from_fn(|_| self.source("r", 10));
        let ty = self.pick(&["s32", "u32"]);
        let line = match self.below(3) {
            0 => format!(
                "cvt.{}.{ty} %d{to}, %r{};",
                self.pick(&["s64", "u64"]),
                self.below(10)
            ),
            1 => format!("mul.wide.{ty} %d{to}, {a}, {b};"),
            _ => format!("mad.wide.{ty} %d{to}, {a}, {b}, %d{};", self.below(6)),
        };
        let _ = writeln!(self.text, "{line}");
    }

    /// An access within the memory that there is.
    fn access(&mut self) {
        let (guard, from, mask) = (
            self.guard(),
            self.below(10),
            self.pick(&["1020", "508", "60"]),
        );
        let scale = self.below(3);
        let _ = writeln!(
            self.text,
            "shl.b32 %t, %r{from}, {scale};\nand.b32 %t, %t, {mask};"
        );
        let (to, at) = (self.target(), 4 * self.below(4));
        let ty = self.pick(&["u8", "u16", "u32", "s8"]);
        let line = match self.below(4) {
            0 => format!("ld.shared.b32 %r{to}, [%t];"),
            1 => format!("st.shared.b32 [%t], %r{to};"),
            2 => format!(
                "cvt.u64.u32 %u, %t;\nadd.s64 %u, %u, %d0;\nst.global.b32 [%u+{at}], %r{to};"
            ),
            _ => format!("mad.wide.u32 %u, %t, 4, %d0;\nld.{ty} %r{to}, [%u+{at}];"),
        };
        match line.rsplit_once('\n') {
            Some((first, last)) => {
                let _ = writeln!(self.text, "{first}\n{guard}{last}");
            }
            None => {
                let _ = writeln!(self.text, "{guard}{line}");
            }
        }
    }

    fn short(&mut self) {
        let to = self.below(4);
        let [a, b] = core::array::from_fn(|_| self.source("h", 4));
        let line = match self.below(4) {
            0 => format!("add.{} %h{to}, {a}, {b};", self.pick(&["s16", "u16"])),
            1 => format!("cvt.u16.u32 %h{to}, %r{};", self.below(10)),
            2 => format!("shl.b16 %h{to}, {a}, {};", self.below(17)),
            _ => format!(
                "mul.wide.{} %r{}, {a}, {b};",
                self.pick(&["s16", "u16"]),
                self.target()
            ),
        };
        let _ = writeln!(self.text, "{line}");
    }

    fn condition(&mut self) {
        let to = self.below(4);
        let [a, b] = core::array::from_fn(|_| self.source("r", 10));
        let order = self.pick(&["eq", "ne", "lt", "le", "gt", "ge"]);
        let ty = self.pick(&["s32", "u32"]);
        let _ = writeln!(self.text, "setp.{order}.{ty} %p{to}, {a}, {b};");
    }

    fn branch(&mut self, depth: u32) {
        self.labels += 2;
        let (label, guard) = (self.labels, self.below(4));
        let _ = writeln!(self.text, "@%p{guard} bra L{label};");
        self.block(depth - 1, 5);
        if self.below(2) == 0 {
            let _ = writeln!(self.text, "bra L{};\nL{label}:", label + 1);
            self.block(depth - 1, 5);
            let _ = writeln!(self.text, "L{}:", label + 1);
        } else {
            let _ = writeln!(self.text, "L{label}:");
        }
    }

    /// A loop that counts up or down, tested at its start or at its end.
    fn repeat(&mut self, depth: u32) {
        let counter = self.target();
        if self.reserved.len() > 3 {
            return;
        }
        self.labels += 2;
        let label = self.labels;
        let step = 1 + self.below(5);
        let (start, bound, order) = match self.below(4) {
            0 => (
                0,
                (step * self.below(9)).to_string(),
                self.pick(&["lt.s32", "ne.s32", "lt.u32"]),
            ),
            1 => (
                self.below(5),
                self.source("r", 2),
                self.pick(&["lt.s32", "le.s32", "lt.u32"]),
            ),
            2 => (
                40 + self.below(9),
                self.below(30).to_string(),
                self.pick(&["gt.s32", "ge.s32"]),
            ),
            _ => (0, "%r0".into(), "lt.s32"),
        };
        let down = order.starts_with('g');
        let step = if down { -(step as i32) } else { step as i32 };
        if self.below(3) > 0 {
            let _ = writeln!(self.text, "mov.b32 %r{counter}, {start};");
        }
        self.reserved.push(counter);
        let top = self.below(2) == 0;
        let _ = writeln!(self.text, "L{label}:");
        let test = format!("setp.{order} %p0, %r{counter}, {bound};\n");
        if top {
            let _ = writeln!(self.text, "{test}@!%p0 bra L{};", label + 1);
        }
        self.block(depth - 1, 5);
        let _ = writeln!(self.text, "add.s32 %r{counter}, %r{counter}, {step};");
        match top {
            true => {
                let _ = writeln!(self.text, "bra L{label};\nL{}:", label + 1);
            }
            false => {
                let _ = writeln!(self.text, "{test}@%p0 bra L{label};");
            }
        }
        self.reserved.pop();
    }
}
