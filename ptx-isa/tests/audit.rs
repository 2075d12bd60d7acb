//! One row a form: what it reads and writes, which memory it reaches, what else it does. The rows were compared with the
//! manual; a change of the tables shows here. `PTX_BLESS=1 cargo test -p ptx-isa --test audit` writes the file anew.

use std::fmt::Write as _;

use ptx_isa::{
    Access, Cond, EffectKind, Form, Instruction, Marks, ModifierSource, Operand, Role, Size, Spaces,
};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/audit.txt");

#[test]
fn every_form_is_audited() {
    let mut found = String::new();
    for instruction in Instruction::ALL {
        writeln!(
            found,
            "{} \"{}\"",
            instruction.name(),
            instruction.section()
        )
        .ok();
        for form in instruction.forms() {
            row(form, &mut found);
        }
    }
    if std::env::var_os("PTX_BLESS").is_some() {
        std::fs::write(FILE, &found).expect("the audit can be written");
    }
    let audited = std::fs::read_to_string(FILE).expect("the audit is there");
    let differs = found.lines().zip(audited.lines()).find(|(a, b)| a != b);
    assert_eq!(differs, None, "found, and audited");
    assert_eq!(found.lines().count(), audited.lines().count());
}

fn row(form: &'static Form, out: &mut String) {
    writeln!(out, "  {}", form.syntax()).ok();
    let of = |wanted: &[Role]| {
        let operands = form.operands().iter().filter(|o| wanted.contains(&o.role));
        operands.map(|o| o.name).collect::<Vec<_>>().join(" ")
    };
    let mut line = |name: &str, text: String| {
        if !text.is_empty() {
            writeln!(out, "    {name} {text}").ok();
        }
    };
    line("writes", of(&[Role::Def, Role::Rets, Role::ReadWrite]));
    let read = [
        Role::Use,
        Role::ReadWrite,
        Role::Addr,
        Role::Args,
        Role::Func,
    ];
    line("reads", of(&read));
    line(
        "names",
        of(&[
            Role::Label,
            Role::LabelTable,
            Role::Symbol,
            Role::Sreg,
            Role::Imm,
        ]),
    );
    let memory = form.operands().iter().filter(|o| o.access != Access::None);
    line(
        "memory",
        memory
            .map(|o| memory_text(form, o))
            .collect::<Vec<_>>()
            .join("; "),
    );
    let effects = form.effects().iter().filter(|e| e.when != Cond::Never);
    let effects = effects.map(|e| match cond(form, &e.when) {
        when if when.is_empty() => kind(form, e.kind),
        when => format!("{} if {when}", kind(form, e.kind)),
    });
    line("effects", effects.collect::<Vec<_>>().join("; "));
}

fn memory_text(form: &Form, operand: &Operand) -> String {
    let mut text = format!("{:?} [{}]", operand.access, operand.name).to_lowercase();
    match operand.spaces {
        Spaces::Slot(slot) => text += &format!(" in {}", slot_name(form, slot)),
        Spaces::Words(words, generic) => {
            let mut words: Vec<&str> = words.iter().map(|w| w.text()).collect();
            if generic {
                words.push("generic");
            }
            text += &format!(" in {}", words.join("|"));
        }
        _ => {}
    }
    let marks = [
        (Marks::TMEM, "tensor memory"),
        (Marks::TEXTURE, "a texture"),
        (Marks::SURFACE, "a surface"),
        (Marks::MBARRIER, "an mbarrier"),
        (Marks::TENSORMAP, "a tensor map"),
        (Marks::MULTIMEM, "multimem"),
    ];
    for (_, name) in marks.iter().filter(|(m, _)| operand.marks.contains(*m)) {
        text += &format!(" {name}");
    }
    let name = |i: u8| form.operands()[usize::from(i)].name;
    match operand.size {
        Size::Fixed(n) => text += &format!(" {n} bytes"),
        Size::Like(i) => text += &format!(" as wide as {}", name(i)),
        Size::Value(i) => text += &format!(" {} bytes", name(i)),
        _ => {}
    }
    text
}

fn slot_name(form: &Form, slot: u8) -> String {
    let Some(slot) = form.slot(slot.into()) else {
        return String::new();
    };
    match slot.default() {
        Some(word) => format!("{}={}", slot.name(), word.text()),
        None => slot.name().into(),
    }
}

fn kind(form: &Form, kind: EffectKind) -> String {
    let word = |word: ModifierSource| match word {
        ModifierSource::Fixed(word) => word.text().to_string(),
        ModifierSource::Slot(slot) => slot_name(form, slot),
        _ => String::new(),
    };
    match kind {
        EffectKind::Order(w) => format!("order {}", word(w)),
        EffectKind::Scope(w) => format!("scope {}", word(w)),
        EffectKind::Lanes(i) => format!("lanes {}", form.operands()[usize::from(i)].name),
        EffectKind::Memory(access, space) => {
            format!("memory {access:?} {}", space.text()).to_lowercase()
        }
        other => format!("{other:?}").to_lowercase(),
    }
}

fn cond(form: &Form, when: &Cond) -> String {
    let list = |all: &[Cond], with: &str| {
        let all: Vec<String> = all.iter().map(|c| cond(form, c)).collect();
        all.join(with)
    };
    match *when {
        Cond::Always => String::new(),
        Cond::All(all) => list(all, " and "),
        Cond::Any(any) => list(any, " or "),
        Cond::Not(c) => format!("not {}", cond(form, c)),
        Cond::Filled(slot) => slot_name(form, slot),
        Cond::Holds(slot, words) => {
            let words: Vec<&str> = words.as_slice().iter().map(|w| w.text()).collect();
            format!("{} is {}", slot_name(form, slot), words.join(" "))
        }
        other => format!("{other:?}"),
    }
}
