//! Random integer functions and a machine that runs them in the integers of Rust.

use super::Random;

/// A source operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// `%r0` to `%r5`.
    Reg(usize),
    /// A constant.
    Number(u32),
}

#[derive(Clone, Debug)]
enum Act {
    Move(usize, Source),
    Two(&'static str, usize, Source, Source),
    Compare(&'static str, usize, Option<usize>, Source, Source),
    Select(usize, Source, Source, usize),
    /// An addition: whether it reads the carry, whether it writes it, the destination and the sources.
    Add(bool, bool, usize, Source, Source),
    Input(usize),
    Store(Source),
    Jump(usize),
    Table(usize, Vec<usize>),
    Return,
}

/// The state of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// `%r0` to `%r5`.
    pub regs: [u32; 6],
    /// `%p0` to `%p2`.
    pub preds: [bool; 3],
    /// The carry flag.
    pub carry: bool,
    /// The only memory location.
    pub cell: u32,
}

impl State {
    /// A random state of small numbers, so that some of them are equal.
    pub fn random(random: &mut Random) -> Self {
        Self {
            regs: core::array::from_fn(|_| random.below(5) as u32),
            preds: core::array::from_fn(|_| random.below(2) == 0),
            carry: random.below(2) == 0,
            cell: random.below(6) as u32,
        }
    }
}

/// A function of integers.
#[derive(Clone, Debug)]
pub struct Program {
    /// The module that contains it; it is called `k`.
    pub text: String,
    acts: Vec<(Option<(usize, bool)>, Act)>,
    labels: Vec<usize>,
}

const TWO: [&str; 7] = [
    "add.u32",
    "sub.u32",
    "mul.lo.u32",
    "and.b32",
    "or.b32",
    "xor.b32",
    "shl.b32",
];
const TESTS: [&str; 4] = ["eq.u32", "ne.u32", "lt.u32", "lt.s32"];

/// A random function.
pub fn program(random: &mut Random) -> Program {
    let count = 3 + random.below(22) as usize;
    let mut labels: Vec<usize> = (0..1 + random.below(4))
        .map(|_| random.below(count as u64) as usize)
        .collect();
    labels.sort_unstable();
    let pick = |random: &mut Random, n: usize| random.below(n as u64) as usize;
    let source = |random: &mut Random| match random.below(3) {
        0 => Source::Number([0, 1, 2, 3, 31, u32::MAX][random.below(6) as usize]),
        _ => Source::Reg(random.below(6) as usize),
    };
    let mut acts = Vec::new();
    for _ in 0..count {
        let guard = (random.below(4) == 0).then(|| (pick(random, 3), random.below(2) == 0));
        let (a, b) = (source(random), source(random));
        let d = pick(random, 6);
        let act = match random.below(24) {
            0..5 => Act::Move(
                d,
                if random.below(4) == 0 {
                    a
                } else {
                    Source::Number(random.below(4) as u32)
                },
            ),
            5..11 => Act::Two(TWO[pick(random, TWO.len())], d, a, b),
            11..14 => {
                let p = pick(random, 3);
                let q = (random.below(3) == 0).then_some((p + 1) % 3);
                Act::Compare(TESTS[pick(random, TESTS.len())], p, q, a, b)
            }
            14 | 15 => Act::Select(d, a, b, pick(random, 3)),
            16 | 17 => Act::Add(random.below(2) == 0, random.below(2) == 0, d, a, b),
            18 if random.below(3) == 0 => Act::Input(d),
            18 => Act::Store(a),
            19..22 => Act::Jump(pick(random, labels.len())),
            22 => Act::Table(
                d,
                (0..1 + random.below(3))
                    .map(|_| pick(random, labels.len()))
                    .collect(),
            ),
            _ => Act::Return,
        };
        acts.push((guard, act));
    }
    let mut program = Program {
        text: String::new(),
        acts,
        labels,
    };
    program.text = program.write();
    program
}

impl Program {
    fn write(&self) -> String {
        let show = |s: &Source| match s {
            Source::Reg(r) => format!("%r{r}"),
            Source::Number(n) => format!("{n}"),
        };
        let mut text = String::from(
            ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n\
             .reg .pred %p<3>;\n.reg .b32 %r<6>;\n.reg .b64 %d;\n",
        );
        for (index, (guard, act)) in self.acts.iter().enumerate() {
            for (label, position) in self.labels.iter().enumerate() {
                if *position == index {
                    text += &format!("L{label}:\n");
                }
            }
            if let Act::Table(_, labels) = act {
                let names: Vec<String> = labels.iter().map(|l| format!("L{l}")).collect();
                text += &format!("T{index}: .branchtargets {};\n", names.join(", "));
            }
            if let Some((p, negated)) = guard {
                text += &format!("@{}%p{p} ", if *negated { "!" } else { "" });
            }
            text += &match act {
                Act::Move(d, a) => format!("mov.u32 %r{d}, {};", show(a)),
                Act::Two(op, d, a, b) => format!("{op} %r{d}, {}, {};", show(a), show(b)),
                Act::Compare(test, p, q, a, b) => {
                    let q = q.map_or(String::new(), |q| format!("|%p{q}"));
                    format!("setp.{test} %p{p}{q}, {}, {};", show(a), show(b))
                }
                Act::Select(d, a, b, p) => {
                    format!("selp.b32 %r{d}, {}, {}, %p{p};", show(a), show(b))
                }
                Act::Add(reads, writes, d, a, b) => {
                    let carry_in = if *reads { "c" } else { "" };
                    let carry_out = if *writes { ".cc" } else { "" };
                    format!(
                        "add{carry_in}{carry_out}.u32 %r{d}, {}, {};",
                        show(a),
                        show(b)
                    )
                }
                Act::Input(d) => format!("ld.global.b32 %r{d}, [%d];"),
                Act::Store(a) => format!("st.global.b32 [%d], {};", show(a)),
                Act::Jump(label) => format!("bra L{label};"),
                Act::Table(r, _) => format!("brx.idx %r{r}, T{index};"),
                Act::Return => "ret;".into(),
            };
            text.push('\n');
        }
        text + "}\n"
    }

    /// Runs up to 200 steps. Calls `visit` with the index of each executed instruction, and the states before and after it.
    pub fn run(&self, start: State, mut visit: impl FnMut(usize, &State, &State)) {
        let mut state = start;
        let mut index = 0;
        for _ in 0..200 {
            let Some((guard, act)) = self.acts.get(index) else {
                return;
            };
            let before = state;
            let get = |s: &Source| match *s {
                Source::Reg(r) => before.regs[r],
                Source::Number(n) => n,
            };
            let mut next = Some(index + 1);
            if guard.is_none_or(|(p, negated)| before.preds[p] != negated) {
                match act {
                    Act::Move(d, a) => state.regs[*d] = get(a),
                    Act::Two(op, d, a, b) => {
                        let (a, b) = (get(a), get(b));
                        state.regs[*d] = match *op {
                            "add.u32" => a.wrapping_add(b),
                            "sub.u32" => a.wrapping_sub(b),
                            "mul.lo.u32" => a.wrapping_mul(b),
                            "and.b32" => a & b,
                            "or.b32" => a | b,
                            "xor.b32" => a ^ b,
                            _ => a.checked_shl(b).unwrap_or(0),
                        };
                    }
                    Act::Compare(test, p, q, a, b) => {
                        let (a, b) = (get(a), get(b));
                        let result = match *test {
                            "eq.u32" => a == b,
                            "ne.u32" => a != b,
                            "lt.u32" => a < b,
                            _ => (a as i32) < b as i32,
                        };
                        state.preds[*p] = result;
                        if let Some(q) = q {
                            state.preds[*q] = !result;
                        }
                    }
                    Act::Select(d, a, b, p) => {
                        state.regs[*d] = if before.preds[*p] { get(a) } else { get(b) };
                    }
                    Act::Add(reads, writes, d, a, b) => {
                        let sum = u64::from(get(a))
                            + u64::from(get(b))
                            + u64::from(*reads && before.carry);
                        state.regs[*d] = sum as u32;
                        if *writes {
                            state.carry = sum >> 32 != 0;
                        }
                    }
                    Act::Input(d) => state.regs[*d] = before.cell,
                    Act::Store(a) => state.cell = get(a),
                    Act::Jump(label) => next = Some(self.labels[*label]),
                    Act::Table(r, labels) => {
                        // An index after the end of the table has undefined behavior.
                        let label = labels.get(before.regs[*r] as usize);
                        next = label.map(|&l| self.labels[l]);
                    }
                    Act::Return => next = None,
                }
            }
            if next.is_none() && matches!(act, Act::Table(..)) {
                return;
            }
            visit(index, &before, &state);
            let Some(next) = next else { return };
            index = next;
        }
    }
}
