//! Probes: their arguments for every kind of access, and that nothing of the module is removed.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use ptx_edit::EditModule as _;
use ptx_ir::facts::Space;
use ptx_ir::{Module, Operand};
use ptx_isa::{ScalarType, StateSpace};
use ptx_transform::instrument::{
    Bounds, Error, Outside, Probe, Reason, Records, Report, Timing, Trace, instrument,
    instrument_in_place,
};
use ptx_transform::{InsertItemsError, insert_items};

const HEAD: &str = ".version 8.6\n.target sm_90a\n.address_size 64\n.global .align 16 .b8 g[64];\n.shared .align 16 .b8 s[64];\n";
const DECLARATIONS: &str = "\t.reg .pred p, q;\n\t.reg .b16 h<4>;\n\t.reg .b32 r<9>;\n\t.reg .f32 f<4>;\n\t.reg .b64 d<4>;\n\t.reg .v2 .b32 v;\n";

fn kernel(body: &str) -> String {
    format!("{HEAD}.entry k(.param .u64 n)\n{{\n{DECLARATIONS}{body}\tret;\n}}\n")
}

fn read(text: &str) -> Module {
    let parsed = ptx_parse::parse(text.as_bytes());
    assert!(
        parsed.diagnostics.is_empty(),
        "{:?}\n{text}",
        parsed.diagnostics
    );
    parsed.module
}

/// The text, which is legal and holds every statement of the original in order.
fn print(old: &Module, new: &Module) -> String {
    let text = String::from_utf8(ptx_print::verbatim(new)).unwrap();
    let parsed = ptx_parse::parse(text.as_bytes());
    let mut found = parsed.diagnostics;
    found.extend(ptx_verify::verify(&parsed.module, &Default::default()));
    found.retain(|d| d.severity == ptx_ir::Severity::Error);
    assert!(found.is_empty(), "{found:?}\n{text}");
    assert_eq!(lost(old, &parsed.module), None, "{text}");
    text
}

/// The first statement of the old module that is not in the new one, after those before it.
fn lost(old: &Module, new: &Module) -> Option<String> {
    for (_, function, body) in old.definitions() {
        let now = new.body(new.function(old.name(function.name))?)?;
        let mut rest = now.statements();
        for (stmt, _) in body.statements() {
            let text = body.source_span(stmt).of(old.source());
            if !rest.any(|(s, _)| now.source_span(s).of(new.source()) == text) {
                return Some(String::from_utf8_lossy(text).into_owned());
            }
        }
    }
    None
}

/// The body of the kernel after its declarations, with a record of all spaces where `trace` says so.
fn traced(body: &str) -> String {
    let old = read(&kernel(body));
    let spaces = [StateSpace::Const, StateSpace::Param].map(Space::State);
    let spaces = Trace::MEMORY.into_iter().chain(spaces).collect();
    let records = Records {
        name: "t".into(),
        capacity: 10,
    };
    let traced = Trace { records, spaces }.apply(&old).unwrap();
    let text = print(&old, &traced.module);
    let start = text.find(".v2 .b32 v;\n").unwrap() + ".v2 .b32 v;\n".len();
    text[start..]
        .replace("%probe_", "")
        .replace("\tret;\n}\n", "")
}

/// A probe at every instruction but the last.
fn probed(
    body: &str,
    when: Timing,
    probe: impl FnMut(&mut Probe<'_, '_>) -> Result<(), Error>,
) -> (String, Report) {
    let old = read(&kernel(body));
    let last = old.definitions().next().unwrap().2.statements().next_back();
    let last = last.unwrap().0;
    let probed = instrument(&old, |c| (c.statement != last).then_some(when), probe).unwrap();
    let text = print(&old, &probed.module);
    let start = text.find(".v2 .b32 v;\n").unwrap() + ".v2 .b32 v;\n".len();
    (
        text[start..]
            .replace("%probe_", "")
            .replace("\tret;\n}\n", ""),
        probed.report,
    )
}

#[test]
fn a_load_that_overwrites_its_address() {
    assert_eq!(
        traced("\tld.global.b64 d0, [d0+8];\n"),
        "\tadd.s64 b64_0, d0, 8;\n\tld.global.b64 d0, [d0+8];\n\tcall t_record, (0, 8, b64_0, d0);\n"
    );
    // Without an offset it is copied all the same.
    let text = traced("\tld.global.b64 d0, [d0];\n");
    assert!(!text.contains("(0, 8, d0, d0)"), "{text}");
    assert!(text.starts_with("\tmov.b64 b64_0, d0;\n\tld."), "{text}");
}

#[test]
fn guards() {
    // The record is under the guard, negated too; what is harmless is not.
    assert_eq!(
        traced("\t@!p ld.global.b32 r0, [d0];\n\t@q st.global.f32 [d0], f1;\n"),
        "\t@!p ld.global.b32 r0, [d0];\n\tcvt.u64.u32 b64_0, r0;\n\t@!p call t_record, (0, 4, d0, b64_0);\n\
         \tmov.b32 b32_0, f1;\n\tcvt.u64.u32 b64_0, b32_0;\n\t@q call t_record, (1, 4, d0, b64_0);\n\t@q st.global.f32 [d0], f1;\n"
    );
    // A predicate joins the guard.
    let (text, _) = probed("\t@!p st.global.b32 [d0], 1;\n", Timing::Before, |probe| {
        let low = probe.register(ScalarType::Pred)?;
        let address = probe.address(0)?.unwrap();
        probe.emit(
            "setp.lt.u64",
            &[Operand::Reg(low), address, Operand::Small(9)],
        )?;
        probe.trap_if(low)
    });
    assert_eq!(
        text,
        "\t@!p setp.lt.u64 pred_0, d0, 9;\n\tnot.pred pred_1, p;\n\tand.pred pred_2, pred_0, pred_1;\n\
         \t@pred_2 trap;\n\t@!p st.global.b32 [d0], 1;\n"
    );
    // The instruction overwrites its guard: the probe after it has the old one.
    let (text, _) = probed("\t@p setp.eq.s32 p, r0, r1;\n", Timing::After, |probe| {
        probe.emit("membar.gl", &[])
    });
    assert_eq!(
        text,
        "\tmov.pred pred_0, p;\n\t@p setp.eq.s32 p, r0, r1;\n\t@pred_0 membar.gl;\n"
    );
}

#[test]
fn values_of_vectors() {
    assert_eq!(
        traced("\tld.global.v4.b32 {r0, _, r2, _}, [d0];\n"),
        "\tld.global.v4.b32 {r0, _, r2, _}, [d0];\n\tcvt.u64.u32 b64_0, r0;\n\tcvt.u64.u32 b64_1, r2;\n\
         \tcall t_record, (0, 4, d0, b64_0);\n\tadd.s64 b64_2, d0, 8;\n\tcall t_record, (0, 4, b64_2, b64_1);\n"
    );
    let text = traced("\tst.shared.v2.f32 [r1], {f0, 0f3f800000};\n");
    assert!(text.contains(", 1065353216);\n"), "{text}");
    // A constant has as many bits as are stored.
    let text = traced("\tst.global.s8 [d0], -1;\n");
    assert!(text.contains("(0, 1, d0, 255);\n"), "{text}");
    let text = traced("\tst.global.v2.b32 [d0], v;\n");
    assert!(
        text.contains("b32_0, v.x;\n") && text.contains("b32_1, v.y;\n"),
        "{text}"
    );
    let text = traced("\tld.global.v2.u8 {h0, h1}, [d0];\n");
    assert!(
        text.contains("cvt.u64.u16 b64_0, h0;") && text.contains("(0, 1, "),
        "{text}"
    );
}

#[test]
fn addresses_of_every_space() {
    let address = |instruction: &str| {
        let text = traced(&format!("\t{instruction}\n"));
        let call = text
            .find("(0, ")
            .map(|at| text[at..].split(", ").nth(2).unwrap());
        let call = call.unwrap_or("none").to_owned();
        let defines = |l: &&str| l.contains(&format!(" {call}, ")) && !l.contains("call");
        let definition = text.lines().find(defines);
        definition.map_or(call.clone(), |l| l.trim().to_owned())
    };
    assert_eq!(
        address("ld.shared.b32 r0, [r1+-4];"),
        "cvt.u64.u32 b64_0, b32_0;"
    );
    assert_eq!(
        address("ld.shared.b32 r0, [s+4];"),
        "add.s64 b64_1, b64_0, 4;"
    );
    assert_eq!(address("ld.global.b32 r0, [g];"), "mov.u64 b64_0, g;");
    assert_eq!(
        address("ld.global.b32 r0, g[r1+4];"),
        "add.s64 b64_2, b64_0, b64_1;"
    );
    assert_eq!(address("ld.param.b64 d0, [n];"), "mov.u64 b64_0, n;");
    assert_eq!(address("ld.local.b32 r0, [16];"), "mov.u64 b64_0, 16;");
    assert_eq!(
        address("ld.shared::cluster.b32 r0, [r1];"),
        "cvt.u64.u32 b64_0, r1;"
    );
    assert_eq!(address("ld.b32 r0, [d1];"), "d1");
    assert_eq!(address("atom.global.add.u32 r0, [d1], r2;"), "d1");
    assert_eq!(
        address("red.shared.add.u32 [r1], r2;"),
        "cvt.u64.u32 b64_0, r1;"
    );
    // A copy has two addresses.
    let text = traced("\tcp.async.ca.shared.global [r1], [d1+16], 8;\n");
    assert_eq!(text.matches("call t_record, (0, 8, ").count(), 2, "{text}");
}

#[test]
fn parameters_of_calls_have_no_address() {
    let text = format!(
        "{HEAD}.func (.param .b32 r) f(.param .b32 x)\n{{\n\t.reg .b32 a;\n\tld.param.b32 a, [x];\n\tst.param.b32 [r], a;\n\tret;\n}}\n\
         .entry k()\n{{\n\t.reg .b32 a;\n\t{{\n\t.param .b32 i;\n\t.param .b32 o;\n\tst.param.b32 [i], 1;\n\tcall (o), f, (i);\n\tld.param.b32 a, [o];\n\t}}\n\tret;\n}}\n"
    );
    let old = read(&text);
    let records = Records {
        name: "t".into(),
        capacity: 1,
    };
    let spaces = vec![Space::State(StateSpace::Param)];
    let traced = Trace { records, spaces }.apply(&old).unwrap();
    let text = print(&old, &traced.module);
    // The parameter of the function has one.
    assert_eq!(text.matches("call t_record").count(), 1, "{text}");
    assert!(text.contains("mov.u64 %probe_b64_0, x;\n"), "{text}");
}

#[test]
fn sizes_that_are_operands() {
    let body = "\tcp.async.bulk.global.shared::cta.bulk_group [d0], [r1], r2;\n";
    let (text, _) = probed(body, Timing::Before, |probe| {
        for nth in 0..2 {
            let size = probe.size(nth)?.unwrap();
            probe.emit("add.s32", &[size, size, size])?;
        }
        Ok(())
    });
    assert_eq!(text.matches("\tadd.s32 r2, r2, r2;\n").count(), 2, "{text}");
}

#[test]
fn once_a_function() {
    let body = "\t@p st.global.b32 [d0], 1;\n\tst.global.b32 [d1], 2;\n";
    let (text, _) = probed(body, Timing::Before, |probe| {
        let seven = probe.at_entry(0, ScalarType::B64, |probe, register| {
            probe.emit("mov.b64", &[register, Operand::Small(7)])
        })?;
        let address = probe.address(0)?.unwrap();
        let behind = probe.plus(address, 4)?;
        probe.emit("max.u64", &[behind, behind, seven])
    });
    // It precedes everything else, without the guard of the first place that needs it.
    assert!(!text.contains("mov.b64"), "{text}");
    assert_eq!(
        text.matches("max.u64 b64_0, b64_0, kept_0;").count(),
        2,
        "{text}"
    );
}

#[test]
fn labels_and_locations_stay_before() {
    let body = "\tbra L;\nL:\n\t.loc 1 2 3\n\tld.global.b32 r0, [d0];\nM:\n\t@p bra L;\n";
    let mut module =
        read(&kernel(body).replace(".global .align", ".file 1 \"a.cu\"\n.global .align"));
    instrument_in_place(
        &mut module,
        |c| c.facts.memory().next().map(|_| Timing::Before),
        |p| p.emit("membar.gl", &[]),
    )
    .unwrap();
    let loads =
        |c: &ptx_transform::instrument::Candidate<'_>| c.facts.memory().any(|m| m.data.is_some());
    instrument_in_place(
        &mut module,
        |c| loads(c).then_some(Timing::After),
        |p| p.emit("membar.sys", &[]),
    )
    .unwrap();
    let text = String::from_utf8(ptx_print::verbatim(&module)).unwrap();
    let want = "L:\n\t.loc 1 2 3\n\tmembar.gl;\n\tld.global.b32 r0, [d0];\n\tmembar.sys;\nM:\n";
    assert!(text.contains(want), "{text}");
}

#[test]
fn the_carry_flag_is_kept() {
    let add = "\tadd.cc.u32 r0, r1, r2;\n\tst.global.b32 [d0], 1;\n\taddc.u32 r3, r4, r5;\n";
    assert_eq!(
        traced(add),
        "\tadd.cc.u32 r0, r1, r2;\n\taddc.u32 b32_0, 0, 0;\n\tcall t_record, (0, 4, d0, 1);\n\
         \tadd.cc.u32 b32_1, b32_0, -1;\n\tst.global.b32 [d0], 1;\n\taddc.u32 r3, r4, r5;\n"
    );
    let sub = add.replace("add", "sub");
    let text = traced(&sub);
    assert!(text.contains("\tsubc.u32 b32_0, 0, 0;\n\tcall "), "{text}");
    assert!(
        text.contains(");\n\tsub.cc.u32 b32_1, 0, b32_0;\n"),
        "{text}"
    );
    // If it is not read later, or the probe does not change it, nothing is saved.
    let text =
        traced("\tadd.cc.u32 r0, r1, r2;\n\taddc.u32 r3, r4, r5;\n\tst.global.b32 [d0], 1;\n");
    assert!(!text.contains("b32_"), "{text}");
    let (text, _) = probed(add, Timing::Before, |p| p.emit("membar.gl", &[]));
    assert!(!text.contains("b32_"), "{text}");
    // ptxas preserves it across a call.
    let call = "P: .callprototype _ ();\n\tadd.cc.u32 r0, r1, r2;\n\tst.global.b32 [d0], 1;\n\tcall d1, P;\n\taddc.u32 r3, r4, r5;\n";
    let text = traced(call);
    assert!(text.contains("\taddc.u32 b32_0, 0, 0;\n\tcall "), "{text}");
    // In a loop the flag lives around the back edge.
    let text = traced(
        "\tadd.cc.u32 r0, r1, r2;\nL:\n\taddc.cc.u32 r3, r4, r5;\n\tst.global.b32 [d0], 1;\n\t@p bra L;\n",
    );
    assert!(text.contains("\taddc.u32 b32_0, 0, 0;\n\tcall "), "{text}");
}

#[test]
fn what_cannot_be_probed_is_told() {
    let (text, report) = probed(
        "\t@p bra L;\nL:\n\t@p exit;\n\tmembar.gl;\n",
        Timing::After,
        |p| p.emit("membar.sys", &[]),
    );
    let reasons: Vec<Reason> = report.skipped.iter().map(|s| s.reason).collect();
    assert_eq!(reasons, [Reason::NothingAfter; 2]);
    assert_eq!(text.matches("membar.sys").count(), 1, "{text}");
}

#[test]
fn names_are_new() {
    let body = "\t.reg .b32 %probe_b32_0;\n\t.reg .pred %probe0_pred<3>;\n$probe_after_0:\n\tst.global.b32 [d0], 1;\n";
    let old = read(&kernel(body));
    let probed = instrument(
        &old,
        |c| c.facts.memory().next().map(|_| Timing::Before),
        |probe| {
            let (r, p) = (
                probe.register(ScalarType::B32)?,
                probe.register(ScalarType::Pred)?,
            );
            probe.emit(
                "setp.eq.s32",
                &[Operand::Reg(p), Operand::Reg(r), Operand::Small(0)],
            )?;
            let end = probe.label()?;
            probe.emit_if(p, "bra", &[end])?;
            probe.emit("mov.b32", &[Operand::Reg(r), Operand::Small(1)])?;
            probe.place_label(end)
        },
    );
    let probed = probed.unwrap();
    assert_eq!(probed.report.sites.len(), 1);
    print(&old, &probed.module);
    let inserted = insert_items(&old, ".global .b32 g;");
    let taken = InsertItemsError::Taken("g".into());
    assert_eq!(inserted.unwrap_err(), taken);
}

#[test]
fn code_comes_behind_edits() {
    let mut old = read(&kernel("\tst.global.b32 [d0], 1;\n"));
    // The header becomes longer, and a name comes that the text does not have.
    old.editor().set_target(ptx_isa::Target::Sm100a).unwrap();
    let (function, _, body) = old.definitions().next().unwrap();
    let label = body.statements().next_back().unwrap().0;
    let mut editor = old.edit(function).unwrap();
    let (_, draft) = editor.label("late").unwrap();
    editor.insert_before(label, draft).unwrap();
    let new = insert_items(&old, ".global .b32 added;").unwrap().module;
    let text = print(&new, &new);
    assert!(
        text.contains(".target sm_100a\n.address_size 64\n\n.global .b32 added;\n"),
        "{text}"
    );
    assert!(text.contains("late:\n\tret;"), "{text}");
    let inserted = insert_items(&old, ".global .b32 late;");
    let taken = InsertItemsError::Taken("late".into());
    assert_eq!(inserted.unwrap_err(), taken);
}

#[test]
fn a_label_that_is_not_placed_is_an_error() {
    let module = read(&kernel("\tst.global.b32 [d0], 1;\n"));
    let done = instrument(
        &module,
        |c| c.facts.memory().next().map(|_| Timing::Before),
        |probe| {
            let label = probe.label()?;
            probe.emit("bra", &[label])
        },
    );
    assert!(matches!(done, Err(Error::Edit(_))), "{done:?}");
}

#[test]
fn bounds_are_checked() {
    let old = read(&kernel("\t@p ld.b32 r0, [d0];\n\tst.shared.b8 [r1], h0;\n"));
    let mut bounds = Bounds {
        name: "b".into(),
        space: StateSpace::Global,
        low: 16,
        high: 32,
        outside: Outside::Trap,
    };
    let checked = bounds.apply(&old).unwrap();
    let sites = checked.report.sites.iter();
    let sites = sites.map(|site| (site.id, site.span.of(old.source())));
    assert!(sites.eq([(0, &b"@p ld.b32 r0, [d0];"[..])]));
    assert_eq!(Some(checked.report.sites[0].function), old.function("k"));
    let text = print(&old, &checked.module);
    for part in [
        ".u64 b[2] = {0x10, 0x20};\n",
        "\tld.global.u64 %probe_kept_0, [b];\n\tld.global.u64 %probe_kept_1, [b+8];\n\tsub.s64 %probe_kept_1, %probe_kept_1, %probe_kept_0;\n",
        "\tisspacep.global %probe_pred_0, d0;\n",
        "\t@p sub.s64 %probe_b64_0, d0, %probe_kept_0;\n\t@p setp.ge.u64 %probe_pred_1, %probe_b64_0, %probe_kept_1;\n\
         \t@p sub.s64 %probe_b64_1, %probe_kept_1, %probe_b64_0;\n\t@p setp.lt.or.u64 %probe_pred_1, %probe_b64_1, 4, %probe_pred_1;\n\
         \t@p and.pred %probe_pred_1, %probe_pred_1, %probe_pred_0;\n\tand.pred %probe_pred_2, %probe_pred_1, p;\n\
         \t@%probe_pred_2 trap;\n\t@p ld.b32 r0, [d0];\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    bounds.space = StateSpace::Shared;
    bounds.outside = Outside::Record(Records {
        name: "b".into(),
        capacity: 9,
    });
    let checked = bounds.apply(&old).unwrap();
    assert_eq!(checked.report.sites.len(), 2);
    let text = print(&old, &checked.module);
    assert!(text.contains("\tcvta.to.shared.u64 "), "{text}");
    // A byte needs no second comparison.
    assert_eq!(text.matches("setp.lt.or.u64").count(), 1, "{text}");
    assert!(text.contains(" call b_record, (1, 1, "), "{text}");
}

/// The expected outcome of the comparison that is emitted, over all small numbers: it says "outside" exactly if a byte lies there.
#[test]
fn the_comparison_is_right() {
    for (low, high) in [(0u8, 255u8), (10, 20), (10, 10), (0, 3), (250, 255)] {
        for (address, size) in (0..=255u8).flat_map(|a| [1u8, 2, 4, 8, 16].map(|s| (a, s))) {
            let (length, distance) = (high - low, address.wrapping_sub(low));
            let outside = distance >= length || length.wrapping_sub(distance) < size;
            let last = u16::from(address) + u16::from(size);
            let want = address < low || last > u16::from(high);
            assert_eq!(outside, want, "{address}+{size} in {low}..{high}");
        }
    }
}

fn corpus() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let folders = ["hand", "compiled/nvcc", "compiled/llvm", "compiled/triton"];
    let mut files: Vec<PathBuf> = folders
        .iter()
        .flat_map(|f| fs::read_dir(root.join(f)).unwrap())
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "ptx"))
        .collect();
    files.sort();
    files
}

/// Every file of the corpus: it stays as legal as it was, and keeps all its statements.
#[test]
fn the_corpus() {
    let errors = |text: &[u8]| {
        let parsed = ptx_parse::parse(text);
        let mut all = parsed.diagnostics;
        all.extend(ptx_verify::verify(&parsed.module, &Default::default()));
        let errors = all.iter().filter(|d| d.severity == ptx_ir::Severity::Error);
        errors.map(|d| d.message.clone()).collect::<Vec<_>>()
    };
    let mut sites = 0;
    for path in corpus() {
        let source = fs::read(&path).unwrap();
        let old = ptx_parse::parse(&source).module;
        if !errors(&source).is_empty() || old.header().target.is_none() {
            continue;
        }
        let probed = instrument(
            &old,
            |c| {
                Some(if c.statement.as_u32() % 2 == 0 {
                    Timing::Before
                } else {
                    Timing::After
                })
            },
            |probe| {
                for nth in 0..probe.site().accesses.len() {
                    let address = probe.address(nth)?;
                    let size = probe.size(nth)?;
                    if let (Some(address), Some(size)) = (address, size) {
                        let size = probe.widened(size)?;
                        let end = Operand::Reg(probe.register(ScalarType::B64)?);
                        probe.emit("add.s64", &[end, address, size])?;
                    }
                    probe.values(nth)?;
                }
                Ok(())
            },
        )
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        sites += probed.report.sites.len();
        let errors = errors(probed.text());
        assert_eq!(errors, Vec::<String>::new(), "{}", path.display());
        assert_eq!(lost(&old, &probed.module), None, "{}", path.display());
    }
    assert!(sites > 10_000, "{sites}");
}
