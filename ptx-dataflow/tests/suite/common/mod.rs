//! Random small functions as text, with what each instruction does, known from how it was made.

#![allow(dead_code, reason = "not every test uses everything")]

use std::fmt::Write as _;

/// Random numbers: the same seed gives the same function.
pub(crate) struct Random(fastrand::Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n.max(1))
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// What an instruction of the text does.
#[derive(Clone, Default, Debug)]
pub(crate) struct Known {
    pub(crate) line: u32,
    pub(crate) reads: Vec<String>,
    pub(crate) writes: Vec<String>,
    pub(crate) guarded: bool,
    /// The instructions that may follow; one past the last is the end of the function.
    pub(crate) next: Vec<usize>,
    pub(crate) exits: bool,
    /// Whether it goes back to the caller, who reads the results.
    pub(crate) returns: bool,
}

/// A function and what its instructions do.
pub(crate) struct Sample {
    pub(crate) text: String,
    pub(crate) insts: Vec<Known>,
    /// The registers that hold the results.
    pub(crate) results: Vec<String>,
    /// The instruction after each label, and its line.
    pub(crate) labels: Vec<(usize, u32)>,
}

enum Go {
    On,
    Labels(Vec<usize>),
    Out,
}

/// A function of up to `size` instructions.
pub(crate) fn function(seed: u64, size: usize) -> Sample {
    let mut random = Random::new(seed);
    // Every second one has a result, in a register.
    let (results, head) = match seed % 2 {
        0 => (vec![String::from("o")], ".func (.reg .b32 o) k()\n{"),
        _ => (Vec::new(), ".entry k()\n{\n.reg .b32 o;"),
    };
    let mut text = String::from(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.func (.reg .b32 o) f(.reg .b32 i);\n.func g() .noreturn;\n",
    );
    text += head;
    text.push_str(
        "\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n.reg .v2 .b32 V;\n.reg .f32 %f<8>;\n",
    );
    let count = 1 + random.below(size);
    let label_count = 1 + random.below(1 + count / 3);
    let mut at: Vec<usize> = (0..label_count).map(|_| random.below(count + 1)).collect();
    at.sort_unstable();
    let mut labels = vec![(0, 0); label_count];
    let mut insts: Vec<Known> = Vec::new();
    let mut goes = Vec::new();
    let mut line = text.lines().count() as u32 + 1;
    let mut table = 0;
    for index in 0..=count {
        for (label, _) in at.iter().enumerate().filter(|(_, a)| **a == index) {
            writeln!(text, "L{label}:").expect("text");
            labels[label] = (index, line);
            line += 1;
        }
        if index == count {
            break;
        }
        let r = |random: &mut Random| match random.below(7) {
            6 => String::from("o"),
            n => format!("%r{n}"),
        };
        let p = |random: &mut Random| format!("%p{}", random.below(3));
        let d = |random: &mut Random| format!("%d{}", random.below(3));
        let mut known = Known {
            line,
            ..Known::default()
        };
        let mut guard = String::new();
        if random.one_in(4) {
            let p = p(&mut random);
            guard = format!("@{}{p} ", if random.one_in(2) { "!" } else { "" });
            known.reads.push(p);
            known.guarded = true;
        }
        let mut go = Go::On;
        let mut before = String::new();
        let label = random.below(label_count);
        let body = match random.below(20) {
            0..4 => {
                let (a, b, c) = (r(&mut random), r(&mut random), r(&mut random));
                let text = format!("add.s32 {a}, {b}, {c};");
                known.writes.push(a);
                known.reads.extend([b, c]);
                text
            }
            4 => {
                let a = r(&mut random);
                known.writes.push(a.clone());
                format!("mov.b32 {a}, 7;")
            }
            5 => {
                let (a, b) = (r(&mut random), d(&mut random));
                let text = format!("ld.global.b32 {a}, [{b}+4];");
                known.writes.push(a);
                known.reads.push(b);
                text
            }
            6 => {
                let (a, b) = (d(&mut random), r(&mut random));
                let text = format!("st.global.b32 [{a}], {b};");
                known.reads.extend([a, b]);
                text
            }
            7 => {
                let (a, b) = (p(&mut random), r(&mut random));
                let text = format!("setp.lt.s32 {a}, {b}, 3;");
                known.writes.push(a);
                known.reads.push(b);
                text
            }
            8 => {
                let (a, b) = (d(&mut random), r(&mut random));
                let text = format!("cvt.u64.u32 {a}, {b};");
                known.writes.push(a);
                known.reads.push(b);
                text
            }
            9 => {
                let b = d(&mut random);
                let text = format!("ld.global.v2.b32 V, [{b}];");
                known.writes.extend(["V.x".into(), "V.y".into()]);
                known.reads.push(b);
                text
            }
            10 => {
                let a = r(&mut random);
                let lane = if random.one_in(2) { "x" } else { "y" };
                known.writes.push(format!("V.{lane}"));
                known.reads.push(a.clone());
                format!("mov.b32 V.{lane}, {a};")
            }
            11 => {
                let (a, b) = (r(&mut random), r(&mut random));
                let text = format!("call ({a}), f, ({b});");
                known.writes.push(a);
                known.reads.push(b);
                text
            }
            12 => {
                let lanes: Vec<String> = (0..4).map(|n| format!("%f{n}")).collect();
                known.writes.extend(lanes.clone());
                known.reads.extend(lanes);
                known.reads.extend(["%d0".into(), "%d1".into()]);
                "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d0, %d1, 1, 1, 1, 0, 0;".into()
            }
            13 => {
                let (a, b) = (r(&mut random), p(&mut random));
                let text = format!("selp.b32 {a}, V.x, 1, {b};");
                known.writes.push(a);
                known.reads.extend(["V.x".into(), b]);
                text
            }
            14 => {
                go = Go::Out;
                known.exits = true;
                let way = random.below(4);
                known.returns = way == 0;
                ["ret;", "exit;", "trap;", "call g;"][way].into()
            }
            15 => {
                let a = r(&mut random);
                let targets: Vec<usize> = (0..1 + random.below(3))
                    .map(|_| random.below(label_count))
                    .collect();
                let names: Vec<String> = targets.iter().map(|l| format!("L{l}")).collect();
                before = format!("T{table}: .branchtargets {};\n", names.join(", "));
                let text = format!("brx.idx {a}, T{table};");
                table += 1;
                line += 1;
                known.line = line;
                known.reads.push(a);
                go = Go::Labels(targets);
                text
            }
            _ => {
                go = Go::Labels(vec![label]);
                format!("bra L{label};")
            }
        };
        writeln!(text, "{before}{guard}{body}").expect("text");
        line += 1;
        insts.push(known);
        goes.push(go);
    }
    text += "}\n";
    for (index, (inst, go)) in insts.iter_mut().zip(goes).enumerate() {
        match go {
            Go::On => inst.next.push(index + 1),
            Go::Labels(all) => inst.next.extend(all.iter().map(|&l| labels[l].0)),
            Go::Out => {}
        }
        if inst.guarded {
            inst.next.push(index + 1);
        }
        inst.exits |= inst.next.contains(&count);
        inst.next.sort_unstable();
        inst.next.dedup();
    }
    Sample {
        text,
        insts,
        results,
        labels,
    }
}
