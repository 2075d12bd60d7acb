//! Random kernels with generic addresses that go through selects, loops, stack slots and calls.

use std::fmt::Write as _;

/// What a kernel begins with: objects of 4096 bytes, and addresses in their middle.
const START: &str = "\
.version 8.5
.target sm_90
.address_size 64
.shared .align 16 .b8 s[4096];
.shared .align 16 .b8 s2[4096];
.global .align 16 .b8 g[4096];
.const .align 16 .b8 c[4096];
.func (.param .b64 out) same(.param .b64 a)
{ .reg .b64 %x; ld.param.b64 %x, [a]; st.param.b64 [out], %x; ret; }
.func (.param .b64 out) either(.param .b64 a, .param .b64 b, .param .b32 n)
{ .reg .b64 %x, %y; .reg .b32 %n; .reg .pred %p;
ld.param.b64 %x, [a]; ld.param.b64 %y, [b]; ld.param.b32 %n, [n]; setp.lt.u32 %p, %n, 7;
selp.b64 %x, %x, %y, %p; st.param.b64 [out], %x; ret; }
.func (.param .b64 out) further(.param .b64 a, .param .b32 n)
{ .reg .b64 %x; .reg .b32 %n; .reg .pred %p; .param .b64 x; .param .b32 m; .param .b64 r;
ld.param.b64 %x, [a]; ld.param.b32 %n, [n]; setp.eq.u32 %p, %n, 0; @%p bra L; add.s64 %x, %x, 4; sub.u32 %n, %n, 1;
st.param.b64 [x], %x; st.param.b32 [m], %n; call (r), further, (x, m); ld.param.b64 %x, [r];
L: st.param.b64 [out], %x; ret; }
.func (.param .b64 out) read(.param .b64 a)
{ .reg .b64 %x; .reg .b32 %r; ld.param.b64 %x, [a]; ld.u32 %r, [%x]; cvt.u64.u32 %x, %r; st.param.b64 [out], %x; ret; }
.visible .entry k(.param .u64 .ptr .global p, .param .u64 q, .param .u32 n)
{
.local .align 16 .b8 l[4096];
.local .align 8 .b8 stack[64];
.reg .b64 %a<6>; .reg .b64 %sp, %t; .reg .b32 %r<6>; .reg .pred %p<4>;
ld.param.u32 %r0, [n];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.b32 %r3, 0;
mov.b32 %r4, 1;
setp.lt.u32 %p0, %r1, 9;
setp.gt.u32 %p1, %r0, 5;
setp.eq.u32 %p2, %r2, 0;
mov.u64 %sp, stack;
cvta.local.u64 %sp, %sp;
ld.param.u64 %a0, [p];
ld.param.u64 %a1, [q];
mov.u64 %a2, s+2048;
cvta.shared.u64 %a2, %a2;
mov.u64 %a3, g+2048;
mov.u64 %a4, l;
cvta.local.u64 %a4, %a4;
add.s64 %a4, %a4, 2048;
mov.u64 %a5, s2+2048;
cvta.shared.u64 %a5, %a5;
st.u64 [%sp], %a0;
st.u64 [%sp+8], %a2;
st.u64 [%sp+16], %a3;
st.u64 [%sp+24], %a4;
";

struct Writer {
    random: fastrand::Rng,
    text: String,
    labels: u32,
}

/// A kernel of a seed.
pub(crate) fn kernel(seed: u64) -> String {
    let mut writer = Writer {
        random: fastrand::Rng::with_seed(seed),
        text: START.into(),
        labels: 0,
    };
    writer.block(3, 14);
    writer.text += "ret;\n}\n";
    writer.text
}

impl Writer {
    fn below(&mut self, n: u32) -> u32 {
        self.random.u32(..n)
    }

    fn block(&mut self, depth: u32, length: u32) {
        for _ in 0..2 + self.below(length) {
            match self.below(14) {
                0 if depth > 0 => self.branch(depth),
                1 if depth > 0 => self.repeat(depth),
                2 => self.call(),
                3 | 4 => self.slot(),
                5 | 6 => self.origin(),
                7 | 8 => self.changed(),
                _ => self.access(),
            }
        }
    }

    fn guard(&mut self) -> String {
        match self.below(6) {
            0 => format!("@%p{} ", self.below(3)),
            1 => format!("@!%p{} ", self.below(3)),
            _ => String::new(),
        }
    }

    /// The address of an object.
    fn origin(&mut self) {
        let (guard, to) = (self.guard(), self.below(6));
        let lines = match self.below(7) {
            0 => {
                format!("mov.u64 %t, s2+2048;\ncvta.shared.u64 %t, %t;\n{guard}mov.u64 %a{to}, %t;")
            }
            1 => format!("{guard}mov.u64 %a{to}, g+2048;"),
            2 => format!("mov.u64 %t, c+2048;\ncvta.const.u64 %t, %t;\n{guard}mov.u64 %a{to}, %t;"),
            3 => {
                format!("mov.u64 %t, l;\ncvta.local.u64 %t, %t;\n{guard}add.s64 %a{to}, %t, 2048;")
            }
            4 => format!("{guard}ld.param.u64 %a{to}, [p];"),
            5 => format!("{guard}cvta.shared.u64 %a{to}, 1088;"),
            _ => format!("{guard}ld.param.u64 %a{to}, [q];"),
        };
        let _ = writeln!(self.text, "{lines}");
    }

    fn changed(&mut self) {
        let (guard, to, a, b) = (self.guard(), self.below(6), self.below(6), self.below(6));
        let offset = 4 * (self.below(9) as i32 - 4);
        let line = match self.below(6) {
            0 => format!("{guard}selp.b64 %a{to}, %a{a}, %a{b}, %p{};", self.below(3)),
            1 => format!("{guard}mov.u64 %a{to}, %a{a};"),
            2 => format!("and.b32 %r5, %r1, 7;\n{guard}mad.wide.u32 %a{to}, %r5, 4, %a{a};"),
            3 => format!("{guard}and.b64 %a{to}, %a{a}, -16;"),
            4 => format!(
                "mov.u64 %t, s2+2048;\ncvta.shared.u64 %t, %t;\ncvta.to.shared.u64 %t, %t;\ncvta.shared.u64 %t, %t;\n{guard}add.s64 %a{to}, %t, 4;"
            ),
            _ => format!("{guard}add.s64 %a{to}, %a{a}, {offset};"),
        };
        let _ = writeln!(self.text, "{line}");
    }

    fn slot(&mut self) {
        let (guard, register) = (self.guard(), self.below(6));
        let offset = 8 * self.below(6);
        let base = ["%sp", "stack"][self.below(2) as usize];
        let space = if base == "stack" { ".local" } else { "" };
        let line = match self.below(8) {
            0 => format!("st{space}.v2.u64 [{base}+16], {{%a{register}, %a0}};"),
            1 if self.below(6) == 0 => {
                format!("st{space}.u32 [{base}+4], %r1;\nst{space}.u64 [{base}], %a3;")
            }
            2 if self.below(6) == 0 => "st.u64 [%sp+56], %sp;".into(),
            3..6 => format!("{guard}st{space}.u64 [{base}+{offset}], %a{register};"),
            _ => {
                let offset = 8 * self.below(4);
                format!("{guard}ld{space}.u64 %a{register}, [{base}+{offset}];")
            }
        };
        let _ = writeln!(self.text, "{line}");
    }

    fn call(&mut self) {
        let (to, a, b) = (self.below(6), self.below(6), self.below(6));
        let start = format!(
            "{{ .param .b64 x; .param .b64 y; .param .b32 z; .param .b64 o;\nst.param.b64 [x], %a{a};\n"
        );
        let rest = match self.below(4) {
            0 => format!("call (o), same, (x);\nld.param.b64 %a{to}, [o];\n}}"),
            1 => format!(
                "st.param.b64 [y], %a{b};\nst.param.b32 [z], %r1;\ncall (o), either, (x, y, z);\nld.param.b64 %a{to}, [o];\n}}"
            ),
            2 => format!(
                "st.param.b32 [z], {};\ncall (o), further, (x, z);\nld.param.b64 %a{to}, [o];\n}}",
                self.below(4)
            ),
            _ => "call (o), read, (x);\nld.param.b64 %t, [o];\n}".into(),
        };
        let _ = writeln!(self.text, "{start}{rest}");
    }

    fn access(&mut self) {
        let (guard, address) = (self.guard(), self.below(6));
        let offset = 4 * (self.below(9) as i32 - 4);
        let line = match self.below(5) {
            0 => format!("{guard}st.u32 [%a0+{offset}], %r1;"),
            1 => format!("and.b64 %t, %a{address}, -4;\n{guard}ld.u32 %r5, [%t+{offset}];"),
            2 => format!("{guard}prefetch.L1 [%a{address}];"),
            _ => format!("{guard}ld.u32 %r5, [%a{address}+{offset}];"),
        };
        let _ = writeln!(self.text, "{line}");
    }

    fn branch(&mut self, depth: u32) {
        self.labels += 2;
        let (label, guard) = (self.labels, self.below(3));
        let _ = writeln!(self.text, "@%p{guard} bra L{label};");
        self.block(depth - 1, 5);
        let _ = writeln!(self.text, "bra L{};\nL{label}:", label + 1);
        self.block(depth - 1, 5);
        let _ = writeln!(self.text, "L{}:", label + 1);
    }

    fn repeat(&mut self, depth: u32) {
        self.labels += 2;
        let (label, count) = (self.labels, 1 + self.below(4));
        let _ = writeln!(self.text, "mov.b32 %r4, 0;\nL{label}:");
        self.block(depth - 1, 4);
        let _ = writeln!(
            self.text,
            "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p3, %r4, {count};\n@%p3 bra L{label};"
        );
    }
}
