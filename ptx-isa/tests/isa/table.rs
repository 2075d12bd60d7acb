//! The table as a whole: nothing lost, nothing twice, all indices within bounds.

use std::collections::HashSet;

use ptx_isa::internals::{Cell, Cond, Length, RuleKind, Spaces, TypeExpr};
use ptx_isa::{Instruction, Modifier, Opcode};

#[test]
fn every_opcode_has_instructions() {
    let mut count = 0;
    for &opcode in Opcode::ALL {
        let instructions = opcode.instructions();
        assert!(!instructions.is_empty(), "{opcode}");
        for instruction in instructions {
            assert_eq!(instruction.opcode(), opcode);
            assert!(!instruction.forms().is_empty(), "{}", instruction.name());
            let name = instruction
                .words()
                .iter()
                .fold(opcode.to_string(), |name, w| name + w.text());
            assert_eq!(name, instruction.name());
        }
        count += instructions.len();
    }
    assert_eq!(count, Instruction::ALL.len());
    assert_eq!(Opcode::COUNT, 139);
    let names: HashSet<&str> = Instruction::ALL.iter().map(|i| i.name()).collect();
    assert_eq!(names.len(), count);
}

fn slots_of(cond: &Cond, slots: usize, operands: usize) {
    match *cond {
        Cond::All(list) | Cond::Any(list) => list.iter().for_each(|c| slots_of(c, slots, operands)),
        Cond::Not(c) => slots_of(c, slots, operands),
        Cond::Filled(s) => assert!(usize::from(s) < slots),
        Cond::Holds(s, words) => assert!(usize::from(s) < slots && !words.as_slice().is_empty()),
        Cond::Operand(o, _) => assert!(usize::from(o) < operands),
        _ => {}
    }
}

#[test]
fn indices_lie_within_their_form() {
    for form in Instruction::ALL.iter().flat_map(|i| i.forms()) {
        let (slots, operands) = (form.slot_count(), form.operands().len());
        assert_eq!(form.slots().len(), slots);
        for operand in form.operands() {
            if let TypeExpr::Slot(s)
            | TypeExpr::Bits(s)
            | TypeExpr::DoubleWidth(s)
            | TypeExpr::Container(s) = operand.ty()
            {
                let slot = form.slot(s.into()).expect("a slot");
                let words = slot.words().as_slice();
                assert!(
                    words.iter().all(|m| m.scalar_type().is_some()),
                    "{} holds types",
                    slot.name()
                );
            }
            match operand.length() {
                Length::Slot(s) => assert!(usize::from(s) < slots),
                Length::Cases(cases) => {
                    cases.iter().for_each(|(c, _)| slots_of(c, slots, operands))
                }
                Length::Table => assert!(!form.tables().is_empty()),
                _ => {}
            }
            if let Spaces::Slot(s) = operand.spaces() {
                let slot = form.slot(s.into()).expect("a slot");
                assert!(
                    slot.words()
                        .as_slice()
                        .iter()
                        .all(|m| m.state_space().is_some()),
                    "{}",
                    slot.name()
                );
            }
            assert!(
                operand.condition().is_none() || operand.is_optional(),
                "{} of {}",
                operand.name(),
                form.syntax()
            );
            operand
                .condition()
                .iter()
                .for_each(|c| slots_of(c, slots, operands));
        }
        for rule in form.rules() {
            match rule.kind() {
                RuleKind::Require(a, b) => [a, b].iter().for_each(|c| slots_of(c, slots, operands)),
                RuleKind::Deny(c) | RuleKind::RequiresTarget(c, _) | RuleKind::RemovedIn(c, _) => {
                    slots_of(&c, slots, operands)
                }
                _ => {}
            }
        }
        for table in form.tables() {
            for row in table.rows() {
                assert_eq!(
                    (row.cells().len(), row.lengths().len()),
                    (table.columns().len(), table.operands().len())
                );
                for (cell, &column) in row.cells().iter().zip(table.columns()) {
                    let slot = form.slot(column.into()).expect("a slot");
                    match cell {
                        Cell::Absent => assert!(slot.is_optional(), "{}", slot.name()),
                        Cell::OneOf(words) => {
                            assert!(words.as_slice().iter().all(|&m| slot.words().contains(m)));
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

#[test]
fn sets_agree_with_their_lists() {
    for form in Instruction::ALL.iter().flat_map(|i| i.forms()) {
        for slot in form.slots() {
            let listed: HashSet<Modifier> = slot.words().as_slice().iter().copied().collect();
            assert_eq!(
                listed.len(),
                slot.words().as_slice().len(),
                "{} lists a word twice",
                slot.name()
            );
            for &m in Modifier::ALL {
                assert_eq!(slot.words().contains(m), listed.contains(&m));
            }
        }
    }
}
