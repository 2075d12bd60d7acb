//! The addresses that probes compute are those that the virtual machine accesses.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Mutex;

use ptx_ir::{FuncId, InstId, Module, Operand};
use ptx_isa::{ScalarType, StateSpace};
use ptx_transform::instrument::{Timing, instrument};
use ptx_vm::{ExecutedStep, Launch, Machine, RunOptions, StepObserver};

/// Accesses of every form of address. The registers `b` and `c` are 12 and -8, `h` is 3.
const KERNEL: &str = "\
.global .align 16 .b32 g[64];
.global .align 16 .v4 .b32 v[16];
.global .align 8 .b64 m[8][8];
.const .align 16 .b16 t[64];
.visible .entry k(.param .u64 p, .param .align 8 .b32 q[16])
{
\t.reg .b16 h;
\t.reg .b32 b, c, e, i, r<8>;
\t.reg .b64 d<8>, x;
\t.shared .align 16 .b8 filler[32];
\t.shared .align 16 .b32 s[64];
\t.local .align 16 .b64 l[16];
\tmov.b16 h, 3;
\tmov.b32 b, 12;
\tmov.b32 c, -8;
\tmov.b32 i, %tid.x;
\tmov.b64 x, 5;
\tld.param.u64 d0, [p];
\tadd.u64 d1, d0, 64;
\tmov.u64 d2, g;
\tcvta.global.u64 d3, d2;
\tmov.u32 e, s;
\tadd.u32 e, e, 64;
\tcvt.u64.u32 d4, e;
\tcvta.shared.u64 d5, d4;
\tmov.u64 d6, l;
\tcvta.local.u64 d7, d6;
\t// A register, with and without an offset.
\tld.global.b32 r0, [d1];
\tld.global.b32 r0, [d1+16];
\tld.global.b32 r0, [d1+-16];
\tld.global.b32 r0, [d1+4];
\tld.global.b32 r0, [d2+8];
\tld.b32 r0, [d3+8];
\tld.b32 r0, [d5+-4];
\tst.local.b64 [d6+8], x;
\tst.b64 [d7+16], x;
\tld.shared.b32 r0, [e];
\tld.shared.b32 r0, [e+-8];
\tld.shared.b32 r0, [d4+4];
\tld.shared::cluster.b32 r0, [e+12];
\tld.global.b64 d1, [d1+-8];
\tadd.u64 d1, d0, 64;
\t// A variable, with and without an offset.
\tld.global.b32 r0, [g];
\tld.global.b32 r0, [g+12];
\tst.shared.b32 [s+8], i;
\tst.shared.b32 [s+-4], i;
\tld.const.b16 h, [t+6];
\tmov.b16 h, 3;
\tst.local.b64 [l+24], x;
\tld.param.b32 r0, [q+8];
\t// An element of an array.
\tld.global.b32 r0, g[5];
\tld.global.b32 r0, g[b];
\tld.global.b32 r0, g[b+3];
\tld.global.b32 r0, g[b+-2];
\tld.global.b32 r0, g[h];
\tld.global.b32 r0, g[h+1];
\tld.global.b32 r0, g[x];
\tld.global.b32 r0, g[x+4];
\tld.global.b32 r0, g[x+-4];
\tld.global.b32 r0, v[3];
\tld.global.b32 r0, v[b];
\tst.global.b64 m[b+2], x;
\tld.const.b16 h, t[b+-1];
\tmov.b16 h, 3;
\tst.shared.b32 s[2], i;
\tst.shared.b32 s[-1], i;
\tst.shared.b32 s[c], i;
\tst.shared.b32 s[c+9], i;
\tst.shared.b32 s[i], i;
\tst.shared.b32 s[h+2], i;
\tst.local.b64 l[b], x;
\tst.local.b64 l[c+10], x;
\tst.local.b64 l[x+-1], x;
\tld.param.b32 r0, q[3];
\t// An address that the instruction overwrites, and a guard.
\tld.global.b32 b, g[b+1];
\tmov.b32 b, 12;
\tatom.shared.add.u32 e, [e+4], b;
\tcp.async.ca.shared.global [s+16], [g+16], 4;
\tcp.async.wait_all;
\tret;
}
";

/// Compares the value that an instruction before an access writes with the address that it accesses.
#[derive(Debug)]
struct Compared {
    probes: Vec<(FuncId, InstId)>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// What the copies since the last access wrote, for each lane.
    computed: Vec<[u64; 32]>,
    accesses: usize,
    differences: Vec<String>,
}

impl StepObserver for Compared {
    fn step(&self, step: &ExecutedStep<'_>) {
        let seen = &mut *self.seen.lock().unwrap();
        if self
            .probes
            .contains(&(step.place.function, step.place.inst))
        {
            let values = &step.writes[0];
            let each = std::array::from_fn(|lane| values.bits(lane) as u64);
            seen.computed.push(each);
            return;
        }
        if seen.computed.is_empty() || step.accesses.is_empty() {
            return;
        }
        for access in step.accesses {
            let mut computed = seen.computed.iter().map(|each| each[access.lane]);
            // In generic addresses, shared and local memory are windows: their low bits are the offset.
            let is_equal = |address: u64| {
                address == access.address
                    || access.space != StateSpace::Global && address << 40 == access.address << 40
            };
            if !computed.any(is_equal) {
                let found = seen.computed.iter().map(|each| each[access.lane]);
                let (at, found) = (step.place.inst, found.collect::<Vec<_>>());
                seen.differences
                    .push(format!("{at:?} accesses {access:x?}, computed {found:x?}"));
            }
            seen.accesses += 1;
        }
        seen.computed.clear();
    }
}

fn compare(head: &str, wanted: usize) {
    let text = format!("{head}{KERNEL}");
    let parsed = ptx_parse::parse_str(&text);
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics);
    let old = parsed.module;
    let mut copies = 0;
    let probed = instrument(
        &old,
        |c| {
            c.facts
                .memory()
                .any(|a| a.operand.is_some())
                .then_some(Timing::Before)
        },
        |probe| {
            for nth in 0..2 {
                // Only copies have two accesses.
                let address = match probe.address(nth) {
                    Ok(Some(address)) => address,
                    Ok(None) => continue,
                    Err(_) => break,
                };
                let copy = probe.register(ScalarType::B64)?;
                probe.emit_always("xor.b64", &[Operand::Reg(copy), address, Operand::Small(0)])?;
                copies += 1;
            }
            Ok(())
        },
    );
    let module = ptx_parse::parse(probed.unwrap().text())
        .into_result()
        .unwrap();
    let found = ptx_verify::verify(&module, &ptx_verify::Options::default());
    assert!(found.is_empty(), "{found:?}");
    let mut machine = Machine::new(&module);
    let buffer = machine.allocate(256).unwrap();
    let launch = Launch::new("k").shape(1, 32);
    let launch = launch
        .argument(buffer.to_le_bytes().to_vec())
        .argument(vec![7; 64]);
    let observer = Compared {
        probes: probe_copies(&module),
        seen: Mutex::default(),
    };
    assert_eq!(observer.probes.len(), copies);
    let options = RunOptions::default().with_observer(&observer);
    machine.launch_with(&launch, options).unwrap();
    let seen = observer.seen.into_inner().unwrap();
    assert_eq!(seen.differences, [""; 0]);
    assert_eq!(seen.accesses, wanted * 32);
}

/// The instructions that write the address to a register of a probe.
fn probe_copies(module: &Module) -> Vec<(FuncId, InstId)> {
    let mut found = Vec::new();
    for (function, _, body) in module.definitions() {
        for (stmt, _) in body.statements() {
            let text = body.source_span(stmt).of(module.source());
            if let Some(ptx_ir::Statement::Inst(inst)) = body.statement(stmt)
                && text.starts_with(b"xor.b64 %probe_")
            {
                found.push((function, inst));
            }
        }
    }
    found
}

#[test]
fn addresses_are_those_of_the_machine() {
    compare(".version 8.6\n.target sm_90a\n.address_size 64\n", 49);
}
