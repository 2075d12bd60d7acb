//! Modifiers in any order: every form takes what it lists, and the PTX ISA manual's order is found again from any other.

use std::collections::BTreeSet;

use ptx_isa::internals::{canonical_order, find_form};
use ptx_isa::{Form, Instruction, Modifier, Opcode, find_instruction};

/// Modifiers of a form, name included: every slot takes each of its alternatives once while the others take their
/// first, with the optional slots filled and with them empty.
fn samples(instruction: &Instruction, form: &Form) -> Vec<Vec<Modifier>> {
    let alternatives: Vec<Vec<Vec<Modifier>>> = form
        .slots()
        .map(|slot| {
            let words = slot.words().as_slice().iter().map(|&w| vec![w]);
            words
                .chain(slot.sequences().iter().map(|s| s.to_vec()))
                .collect()
        })
        .collect();
    let mut out = Vec::new();
    for filled in [true, false] {
        for (varied, choices) in alternatives.iter().enumerate() {
            for choice in choices {
                let mut modifiers = instruction.words().to_vec();
                for (i, slot) in form.slots().enumerate() {
                    if i == varied {
                        modifiers.extend(choice);
                    } else if filled || !slot.is_optional() {
                        modifiers.extend(&alternatives[i][0]);
                    }
                }
                out.push(modifiers);
            }
        }
    }
    if out.is_empty() {
        out.push(instruction.words().to_vec());
    }
    out
}

fn ordered(opcode: Opcode, modifiers: &[Modifier]) -> Option<Vec<Modifier>> {
    let mut order = vec![0; modifiers.len()];
    let found = canonical_order(opcode, modifiers, &mut order);
    let distinct: BTreeSet<u16> = order.iter().copied().collect();
    assert_eq!(distinct.len(), modifiers.len(), "a permutation");
    found.then(|| order.iter().map(|&i| modifiers[usize::from(i)]).collect())
}

fn show(opcode: Opcode, modifiers: &[Modifier]) -> String {
    modifiers
        .iter()
        .fold(opcode.to_string(), |text, m| text + m.text())
}

/// The words of each positional class in their order.
fn positional(modifiers: &[Modifier]) -> Vec<(usize, Modifier)> {
    let mut words: Vec<_> = modifiers
        .iter()
        .filter(|m| m.class().is_positional())
        .map(|&m| (m.class().index(), m))
        .collect();
    words.sort_by_key(|(class, _)| *class);
    words
}

#[test]
fn every_form_takes_what_it_lists() {
    for instruction in Instruction::ALL {
        for form in instruction.forms() {
            for modifiers in samples(instruction, form) {
                let rest = &modifiers[instruction.words().len()..];
                assert!(
                    form.match_modifiers(rest).is_some(),
                    "{} {}: {}",
                    instruction.name(),
                    form.syntax(),
                    show(instruction.opcode(), rest)
                );
            }
        }
    }
}

#[test]
fn the_order_is_found_again_from_any_other() {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut random = |n: usize| rng.usize(..n);
    let mut count = 0;
    for instruction in Instruction::ALL {
        let (opcode, fixed) = (instruction.opcode(), instruction.words().len());
        for form in instruction.forms() {
            for modifiers in samples(instruction, form) {
                // A longer name may begin with the same words.
                if find_instruction(opcode, &modifiers)
                    .is_none_or(|i| i.name() != instruction.name())
                {
                    continue;
                }
                let canonical = ordered(opcode, &modifiers).expect("a form takes it");
                assert_eq!(
                    ordered(opcode, &canonical).as_ref(),
                    Some(&canonical),
                    "{}",
                    show(opcode, &modifiers)
                );
                for _ in 0..3 {
                    let mut shuffled = modifiers.clone();
                    for _ in 0..20 {
                        if shuffled.len() < fixed + 2 {
                            break;
                        }
                        let i = fixed + random(shuffled.len() - fixed - 1);
                        let (a, b) = (shuffled[i].class(), shuffled[i + 1].class());
                        if a != b || !a.is_positional() {
                            shuffled.swap(i, i + 1);
                        }
                    }
                    if find_instruction(opcode, &shuffled)
                        .is_none_or(|i| i.name() != instruction.name())
                    {
                        continue;
                    }
                    let again = ordered(opcode, &shuffled).expect("a form takes it in any order");
                    assert_eq!(
                        show(opcode, &again),
                        show(opcode, &canonical),
                        "from {}",
                        show(opcode, &shuffled)
                    );
                    assert_eq!(again[..fixed], modifiers[..fixed], "the name stays");
                    assert_eq!(
                        positional(&again),
                        positional(&shuffled),
                        "{}",
                        show(opcode, &shuffled)
                    );
                    count += 1;
                }
            }
        }
    }
    assert!(count > 10_000, "{count} shuffles");
}

fn parse(text: &str) -> Option<(Opcode, Vec<Modifier>)> {
    let mut parts = text.split('.');
    let opcode = Opcode::from_text(parts.next()?.as_bytes())?;
    let modifiers = parts.map(|p| Modifier::from_text(format!(".{p}").as_bytes()));
    Some((opcode, modifiers.collect::<Option<_>>()?))
}

#[test]
fn orders_of_the_isa_manual() {
    for (written, canonical) in [
        ("ld.u32.global", "ld.global.u32"),
        ("add.f32.rn", "add.rn.f32"),
        ("setp.f32.lt", "setp.lt.f32"),
        ("cvt.s32.f32.rzi", "cvt.rzi.s32.f32"),
        ("atom.b32.global.cas", "atom.global.cas.b32"),
        (
            "mma.m16n8k16.sync.aligned.row.col.f32.f16.f16.f32",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        ),
        (
            "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32.satfinite",
            "mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32",
        ),
        ("mul.wide.u16", "mul.wide.u16"),
        ("bar.cta.red.u32.popc", "bar.cta.red.popc.u32"),
        ("vote.ballot.sync.b32", "vote.sync.ballot.b32"),
        (
            "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.tile",
            "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
        ),
        // Twice, and without effect.
        ("add.sat.rn.sat.f32", "add.rn.sat.sat.f32"),
        ("add.rank.sat.s32", "add.sat.s32.rank"),
    ] {
        let (opcode, modifiers) = parse(written).unwrap();
        let found =
            ordered(opcode, &modifiers).unwrap_or_else(|| panic!("no form takes {written}"));
        assert_eq!(show(opcode, &found), canonical);
    }
}

#[test]
fn what_no_form_takes_stays_as_it_is() {
    for written in [
        "add.global.s32",
        "add.rn.rz.f32",
        "mul.s32.wide",
        "ld.global",
        "setp.lt.lt.f32",
        "cp.async.bulk",
        "mma.sync.sync",
    ] {
        let (opcode, modifiers) = parse(written).unwrap();
        assert!(find_form(opcode, &modifiers).is_none(), "{written}");
        let mut order = vec![9; modifiers.len()];
        assert!(!canonical_order(opcode, &modifiers, &mut order));
        assert!(
            order.iter().enumerate().all(|(i, &o)| i == usize::from(o)),
            "{written}"
        );
    }
    let many = vec![Modifier::Sat; 100];
    assert!(find_form(Opcode::Add, &many).is_none());
}

#[test]
fn names_are_the_longest_beginning() {
    for (text, name) in [
        ("cp.async.bulk.tensor.1d", "cp.async.bulk.tensor"),
        ("cp.async.bulk.commit_group", "cp.async.bulk.commit_group"),
        ("cp.async.ca", "cp.async"),
        ("mbarrier.arrive.expect_tx.b64", "mbarrier.arrive.expect_tx"),
        ("mul.lo.s32", "mul.lo"),
        ("mul.f32", "mul"),
        ("tex.1d", "tex"),
        ("barrier.cluster.arrive", "barrier.cluster.arrive"),
    ] {
        let (opcode, modifiers) = parse(text).unwrap();
        assert_eq!(
            find_instruction(opcode, &modifiers).map(|i| i.name()),
            Some(name)
        );
    }
    let (opcode, modifiers) = parse("mul24.s32").unwrap();
    assert!(find_instruction(opcode, &modifiers).is_none());
}

#[test]
fn slots_tell_what_they_hold() {
    let (opcode, modifiers) = parse("cvt.f32.ftz.f16").unwrap();
    let (instruction, form, found) = find_form(opcode, &modifiers).unwrap();
    assert_eq!(instruction.name(), "cvt");
    let slot = |name: &str| form.slots().position(|s| s.name() == name).unwrap();
    assert_eq!(found.word(slot(".dtype")), Some(Modifier::F32));
    assert_eq!(found.word(slot(".atype")), Some(Modifier::F16));
    assert!(found.is_filled(slot(".ftz")) && !found.is_filled(slot(".sat")));
    assert_eq!(found.slot_of(1), Some(slot(".ftz")));
    assert_eq!(found.slot_of(3), None);
}
