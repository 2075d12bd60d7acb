//! Random kernels with shared memory, barriers and asynchronous copies, under conditions that threads evaluate alike or not.

use std::fmt::Write as _;

use super::random::Random;

/// Registers for values; the first one is the index of the thread.
const REGISTERS: u64 = 6;
/// Bytes of each array in shared memory.
const BYTES: u64 = 4096;
/// How deep conditions and loops are nested.
const DEPTH: u32 = 3;

/// What a kernel begins with: pointers, a number that is the same in all threads, and the index of the thread.
const START: &str = "\
.version 8.0
.target sm_80
.address_size 64
.func wait_for_all() { bar.sync 0; ret; }
.entry k(.param .u64 in, .param .u64 out, .param .u32 n)
{
.shared .align 16 .b8 tile[4096];
.shared .align 16 .b8 copy[4096];
.reg .pred %p, %q;
.reg .b32 %r<6>, %i<64>, %n, %a, %x;
.reg .b64 %in, %out, %from;
ld.param.u64 %in, [in];
ld.param.u64 %out, [out];
ld.param.u32 %n, [n];
mov.u32 %r0, %tid.x;
mul.wide.u32 %out, %r0, 32;
ld.param.u64 %in, [out];
add.u64 %out, %out, %in;
ld.param.u64 %in, [in];
";

/// A kernel that is being written.
#[derive(Debug)]
struct Writer<'a> {
    random: &'a mut Random,
    text: String,
    labels: u32,
    /// The registers that some instruction before writes.
    written: Vec<u64>,
    /// Whether copies are used.
    copies: bool,
}

/// A random kernel.
pub(crate) fn kernel(random: &mut Random) -> String {
    let copies = random.below(2) == 0;
    let mut writer = Writer {
        random,
        text: START.to_owned(),
        labels: 0,
        written: vec![0],
        copies,
    };
    let count = 4 + writer.random.below(9);
    writer.statements(count, 0);
    for (nth, register) in writer.written.clone().into_iter().enumerate() {
        let _ = writeln!(
            writer.text,
            "st.global.u32 [%out+{}], %r{register};",
            4 * nth
        );
    }
    writer.text + "ret;\n}\n"
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    fn pick<'s>(&mut self, all: &[&'s str]) -> &'s str {
        all[self.random.below(all.len() as u64) as usize]
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    /// A register that was written, or rarely any.
    fn source(&mut self) -> u64 {
        match self.random.below(12) {
            0 => self.random.below(REGISTERS),
            _ => self.written[self.random.below(self.written.len() as u64) as usize],
        }
    }

    /// A register to write, which is not the index of the thread.
    fn target(&mut self) -> u64 {
        let register = 1 + self.random.below(REGISTERS - 1);
        if !self.written.contains(&register) {
            self.written.push(register);
        }
        register
    }

    fn statements(&mut self, count: u64, depth: u32) {
        for _ in 0..count {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u32) {
        match self.random.below(20) {
            0..4 => self.compute(),
            4..7 => self.store(),
            7..10 => self.load(),
            10..13 => self.barrier(),
            13..15 if self.copies => self.copy(),
            15 if self.copies => self.wait(),
            16 | 17 if depth < DEPTH => self.condition(depth),
            18 if depth < DEPTH => self.repeat(depth),
            19 => self.guarded(),
            _ => self.compute(),
        }
    }

    fn compute(&mut self) {
        let (a, b) = (self.source(), self.source());
        let number = self.random.below(40);
        let target = self.target();
        let line = match self.random.below(6) {
            0 => format!("mov.u32 %r{target}, {number};"),
            1 => format!("mov.u32 %r{target}, %ctaid.x;"),
            2 => format!("ld.global.u32 %r{target}, [%in];"),
            3 => format!("xor.b32 %r{target}, %r{a}, %r{b};"),
            _ => format!("add.u32 %r{target}, %r{a}, %r{b};"),
        };
        self.line(&line);
    }

    /// Leaves an address of 4 or 16 bytes in an array.
    fn address(&mut self, bytes: u64) {
        let number = self.random.below(6);
        let other = self.source();
        let line = match self.random.below(10) {
            0 => format!("mov.u32 %a, {number};"),
            1 => format!("add.u32 %a, %r0, {number};"),
            2 => format!("xor.b32 %a, %r0, {number};"),
            3 => "shr.u32 %a, %r0, 1;".into(),
            4 => "add.u32 %a, %r0, %n;".into(),
            5 => format!("add.u32 %a, %r0, %r{other};"),
            _ => "mov.u32 %a, %r0;".into(),
        };
        self.line(&line);
        let mask = BYTES / bytes - 1;
        self.line(&format!("and.b32 %a, %a, {mask};"));
        self.line(&format!("mul.lo.u32 %a, %a, {bytes};"));
    }

    fn array(&mut self) -> &'static str {
        match self.copies && self.random.below(2) == 0 {
            true => "copy",
            false => "tile",
        }
    }

    fn add_array(&mut self, array: &str) {
        self.line(&format!("mov.u32 %x, {array};\nadd.u32 %a, %a, %x;"));
    }

    fn store(&mut self) {
        self.address(4);
        let (array, value) = (self.array(), self.source());
        self.add_array(array);
        self.line(&format!("st.shared.u32 [%a], %r{value};"));
    }

    fn load(&mut self) {
        self.address(4);
        let (array, target) = (self.array(), self.target());
        self.add_array(array);
        self.line(&format!("ld.shared.u32 %r{target}, [%a];"));
    }

    fn barrier(&mut self) {
        let barrier = self.pick(&[
            "bar.sync 0;",
            "bar.sync 0;",
            "bar.sync 0;",
            "barrier.sync 0;",
            "bar.warp.sync 0xffffffff;",
            "call wait_for_all;",
            "bar.sync 1;",
        ]);
        self.line(barrier);
    }

    fn copy(&mut self) {
        self.address(16);
        let line = "cvt.u64.u32 %from, %a;\nadd.u64 %from, %from, %in;";
        self.line(line);
        self.add_array("copy");
        self.line("cp.async.ca.shared.global [%a], [%from], 16;");
        if self.random.below(3) > 0 {
            self.line("cp.async.commit_group;");
        }
    }

    fn wait(&mut self) {
        let wait = self.pick(&[
            "cp.async.wait_all;",
            "cp.async.wait_group 0;",
            "cp.async.wait_group 1;",
        ]);
        self.line(wait);
    }

    /// Leaves a condition in a predicate.
    fn test(&mut self, predicate: &str) {
        let number = 1 + self.random.below(40);
        let other = self.source();
        let line = match self.random.below(8) {
            0..3 => format!("setp.lt.u32 {predicate}, %r0, {number};"),
            3 => format!(
                "and.b32 %a, %r0, {};\nsetp.eq.u32 {predicate}, %a, 0;",
                1 << (number % 4)
            ),
            4 => format!("setp.lt.u32 {predicate}, %r{other}, {number};"),
            5 => "shr.u32 %a, %r0, 5;\nsetp.eq.u32 %p, %a, 0;".replace("%p", predicate),
            _ => format!("setp.lt.u32 {predicate}, %n, {number};"),
        };
        self.line(&line);
    }

    fn condition(&mut self, depth: u32) {
        self.test("%p");
        let (other, end) = (self.label(), self.label());
        let count = 1 + self.random.below(3);
        self.line(&format!("@!%p bra {other};"));
        self.statements(count, depth + 1);
        match self.random.below(3) {
            0 => {
                self.line(&format!("bra {end};\n{other}:"));
                self.statements(count, depth + 1);
                self.line(&format!("{end}:"));
            }
            1 if self.random.below(4) == 0 => self.line(&format!("ret;\n{other}:")),
            _ => self.line(&format!("{other}:")),
        }
    }

    fn repeat(&mut self, depth: u32) {
        let start = self.label();
        let most = match self.random.below(4) {
            0 => "%n".into(),
            1 => "%r0".into(),
            _ => self.random.below(4).to_string(),
        };
        let counter = format!("%i{}", self.labels);
        self.line(&format!("mov.u32 {counter}, 0;\n{start}:"));
        let count = 1 + self.random.below(4);
        self.statements(count, depth + 1);
        self.line(&format!(
            "add.u32 {counter}, {counter}, 1;\nsetp.lt.u32 %p, {counter}, {most};\n@%p bra {start};"
        ));
    }

    /// One instruction under a guard.
    fn guarded(&mut self) {
        self.test("%q");
        let (source, target) = (self.source(), self.target());
        let line = match self.random.below(3) {
            0 => "bar.sync 0;".into(),
            1 => format!("mov.u32 %r{target}, 7;"),
            _ => format!("st.shared.u32 [tile+{}], %r{source};", 4 * (source % 4)),
        };
        self.line(&format!("@%q {line}"));
    }
}
