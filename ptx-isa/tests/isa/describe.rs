//! Every part of the table has a description.

use ptx_isa::internals::describe::*;
use ptx_isa::{Form, Instruction, Opcode, find_instruction};

fn forms(opcode: &str) -> &'static [&'static Form] {
    let opcode = Opcode::from_text(opcode.as_bytes()).unwrap();
    find_instruction(opcode, &[]).unwrap().forms()
}

/// All statements about a form, one line each.
fn lines(form: &Form) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(form.slots().map(|s| alternatives(s).to_string()));
    all.extend(form.operands().iter().map(|o| operand(form, o).to_string()));
    all.extend((!form.since().is_empty()).then(|| floors(form.since()).to_string()));
    all.extend(form.rules().iter().map(|r| rule(form, r).to_string()));
    all.extend(form.effects().iter().map(|e| effect(form, e).to_string()));
    for table in form.tables() {
        let text = ptx_isa::internals::describe::table(form, table, None).to_string();
        // Columns are as wide as they have to be.
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        all.extend(text.lines().map(words));
    }
    all
}

#[test]
fn every_part_has_a_description() {
    for instruction in Instruction::ALL {
        for form in instruction.forms() {
            for line in lines(form) {
                let well = !line.is_empty()
                    && line.trim() == line
                    && !line.contains("  ")
                    && !line.contains("always")
                    && !line.contains("never")
                    && line.matches('(').count() == line.matches(')').count();
                assert!(well, "{}{}: {line:?}", instruction.name(), form.syntax());
            }
        }
    }
}

#[test]
fn descriptions_of_some_instructions() {
    for (opcode, expected) in [
        (
            "add",
            ".u16 .u32 .u64 .s16 .s32 .s64 .u16x2 .s16x2 .u8x4 .s8x4",
        ),
        ("add", "written, .type"),
        ("add", "read, .type; register or constant"),
        ("add", "PTX 1.0"),
        (
            "add",
            "if .type is one of .u16x2 .s16x2: PTX 8.0 on sm_90 and newer",
        ),
        (
            "add",
            "if .type is one of .u8x4 .s8x4: PTX 9.2 on the sm_120f family or the sm_107f family",
        ),
        (
            "ld",
            "not allowed: .vec is .v8 and .type is one of .b64 .u64 .s64 .f64",
        ),
        (
            "add",
            "if .rnd is one of .rm .rp: PTX 1.4 on sm_20 and newer",
        ),
        ("bra", "branches to a label"),
        ("tex", "not allowed: .ctype is .s32 and f is given"),
    ] {
        let found = forms(opcode)
            .iter()
            .flat_map(|f| lines(f))
            .any(|l| l == expected);
        let all: Vec<String> = forms(opcode).iter().flat_map(|f| lines(f)).collect();
        assert!(found, "{opcode}: {expected}\n{all:#?}");
    }
}

#[test]
fn long_runs_are_ranges() {
    let all = Instruction::ALL.iter().flat_map(|i| i.forms());
    let shapes = all.flat_map(|f| f.slots()).filter(|s| s.name() == ".shape");
    let texts: Vec<String> = shapes.map(|s| alternatives(s).to_string()).collect();
    assert!(
        texts.iter().any(|t| t == ".m64n{8..256 step 8}k16"),
        "{texts:#?}"
    );
    assert!(texts.iter().any(|t| t == ".m64n8k64 .m64n24k64 .m64n{16..256 step 16}k64" || t.contains("step 16")), "{texts:#?}");
}

#[test]
fn negation_reaches_the_clauses() {
    use ptx_isa::internals::Cond;
    use ptx_isa::internals::OperandTest;
    let form = forms("brev")[0];
    static GIVEN: Cond = Cond::Operand(1, OperandTest::Immediate);
    static BOTH: Cond = Cond::All(&[Cond::Filled(0), Cond::Not(&GIVEN)]);
    let text = condition(form, &Cond::Not(&BOTH)).to_string();
    assert_eq!(text, ".type is not given or a is a constant");
    static NESTED: Cond = Cond::Any(&[BOTH, Cond::InEntry]);
    assert_eq!(
        demand(form, &NESTED).to_string(),
        "(.type must be given and a must not be a constant) or the instruction must be in a kernel"
    );
}

#[test]
fn undocumented_rules_say_so() {
    let mut rules = Opcode::ALL
        .iter()
        .flat_map(|o| o.instructions())
        .flat_map(|i| i.forms())
        .flat_map(|f| f.rules().iter().map(move |r| (f, r)));
    let (form, found) = rules.find(|(_, r)| r.is_undocumented()).unwrap();
    let text = rule(form, found).to_string();
    assert!(
        text.ends_with(" (ptxas only, not in the PTX ISA manual)"),
        "{text}"
    );
}
