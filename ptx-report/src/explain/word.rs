//! Directives, special registers, types, state spaces and modifiers.

use std::borrow::Cow;

use ptx_isa::internals::{DirectivePosition, Ending, describe::register_example};
use ptx_isa::{
    Arch, Directive, Modifier, Opcode, PtxVersion, ScalarType, SpecialReg, StateSpace, Target,
    TypeKind, Uniformity,
};
use ptx_parse::suggest;

use super::entry::{Entry, EntryKind};

/// All meanings that a word may have.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let bytes = text.as_bytes();
    let register = text.split('.').next().unwrap_or(text);
    [
        StateSpace::from_text(bytes).map(space),
        ScalarType::from_text(bytes).map(ty),
        Directive::from_text(bytes).map(directive),
        SpecialReg::from_text(register.as_bytes()).map(special_register),
        Modifier::from_text(bytes).map(modifier),
        Target::from_text(bytes).map(target),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// All directives, special registers, types, state spaces, modifiers and targets.
pub(super) fn all() -> impl Iterator<Item = Entry> {
    let directives = Directive::ALL.iter().copied().map(directive);
    let registers = SpecialReg::ALL.iter().copied().map(special_register);
    let types = ScalarType::ALL.iter().copied().map(ty);
    let spaces = StateSpace::ALL.iter().copied().map(space);
    let targets = Target::ALL.iter().copied().map(target);
    let modifiers = Modifier::ALL.iter().copied().map(modifier);
    directives
        .chain(registers)
        .chain(types)
        .chain(spaces)
        .chain(modifiers)
        .chain(targets)
}

/// The directives in whose description a hint such as `nounroll` is mentioned, for `nounroll` and `.pragma "nounroll"`.
pub(super) fn hint(text: &str) -> Vec<Entry> {
    let (directive_name, hint) = match text.split_once(char::is_whitespace) {
        Some((name, hint)) => (Some(name), hint.trim()),
        None => (None, text),
    };
    let hint = hint.trim_end_matches(';').trim_matches('"');
    let mention = format!("`{hint}`");
    Directive::ALL
        .iter()
        .copied()
        .filter(|directive| directive_name.is_none_or(|name| name == directive.text()))
        .filter(|directive| !hint.is_empty() && directive.summary().contains(&mention))
        .map(directive)
        .collect()
}

/// A target, with the targets whose code it runs.
fn target(target: Target) -> Entry {
    let mut entry = Entry::new(
        EntryKind::Target,
        target.text(),
        match target.arch() {
            Arch::Family => "Code for this target runs on the newer architectures of one family.",
            Arch::Exact => "Code for this target runs on one architecture only.",
            _ => "Code for this target runs on this architecture and all newer ones.",
        },
    );
    let version = target.min_version();
    entry.facts.push(match version.toolkit() {
        Some(toolkit) => format!("since PTX {version} ({toolkit})"),
        None => format!("since PTX {version}"),
    });
    if let Some(until) = target.until() {
        entry
            .facts
            .push(format!("ptxas rejects it since PTX {until}"));
    }
    if let Some(name) = target.alias_of() {
        entry.facts.push(format!("newer name: {name}"));
    }
    let implied: Vec<&str> = target
        .implied()
        .iter()
        .filter(|other| *other != target)
        .map(Target::text)
        .collect();
    if !implied.is_empty() {
        let names = implied.join(", ");
        entry.facts.push(format!("has the features of {names}"));
    }
    let kibibytes = target.most_shared_bytes() >> 10;
    entry.facts.push(format!(
        "at most {kibibytes} KiB of declared shared memory in a kernel"
    ));
    entry
}

/// The nearest word of any kind.
pub(super) fn nearest(text: &str) -> Option<&'static str> {
    let directives = Directive::ALL.iter().map(|d| d.text());
    let registers = SpecialReg::ALL.iter().map(|r| r.text());
    let types = ScalarType::ALL.iter().map(|t| t.text());
    let modifiers = Modifier::ALL.iter().map(|m| m.text());
    suggest::name(
        text,
        directives.chain(registers).chain(types).chain(modifiers),
    )
}

fn since(version: PtxVersion, target: Option<Target>) -> String {
    match target {
        Some(target) => format!("since PTX {version} on {target} and newer"),
        None => format!("since PTX {version}"),
    }
}

fn space(space: StateSpace) -> Entry {
    let mut entry = Entry::new(EntryKind::StateSpace, space.text(), space.summary());
    if let Some(within) = space.within() {
        entry.facts.push(format!("a window of {within}"));
    }
    if space.is_generic() {
        entry.facts.push("generic addresses can refer to it".into());
    }
    entry.facts.push(since(space.since(), None));
    entry
}

fn ty(ty: ScalarType) -> Entry {
    let mut entry = Entry::new(EntryKind::Type, ty.text(), ty.summary());
    entry.examples = ty.example().into_iter().map(Cow::Borrowed).collect();
    let kind = match ty.kind() {
        TypeKind::Signed => "signed integer",
        TypeKind::Unsigned => "unsigned integer",
        TypeKind::Float => "floating point",
        TypeKind::Fixed => "fixed point",
        TypeKind::Bits => "untyped bits",
        TypeKind::Predicate => "predicate",
        TypeKind::Opaque => "handle",
        TypeKind::Packed => "packed",
        _ => "data layout",
    };
    entry.facts.push(match ty.element() {
        Some(element) => format!(
            "{kind}, {} elements of {element}, {} bits",
            ty.elements(),
            ty.bits()
        ),
        None if ty.bits() == 1 => kind.into(),
        None => format!("{kind}, {} bits", ty.bits()),
    });
    let declarations = [
        (ty.is_register_type(), "registers"),
        (ty.is_variable_type(), "variables"),
        (ty.is_parameter_type(), "parameters"),
    ];
    let declared: Vec<&str> = declarations
        .iter()
        .filter(|(is_allowed, _)| *is_allowed)
        .map(|(_, declared)| *declared)
        .collect();
    entry.facts.push(match ty.register_class() {
        _ if !declared.is_empty() => format!("in declarations of {}", declared.join(", ")),
        Some(class) => format!(
            "only as a modifier of instructions; values are in registers of {} bits",
            class.bits()
        ),
        None => "only as a modifier of instructions".into(),
    });
    entry.facts.push(since(ty.since(), ty.target()));
    entry
}

fn directive(directive: Directive) -> Entry {
    let mut entry = Entry::new(EntryKind::Directive, directive.text(), directive.summary());
    entry.section = Some(directive.section());
    entry.examples = directive.example().into_iter().map(Cow::Borrowed).collect();
    let positions: Vec<&str> = directive.places().iter().map(|p| position(*p)).collect();
    entry
        .facts
        .push(format!("allowed {}", positions.join(", ")));
    match directive.integers() {
        Some((0, 0)) => entry.facts.push("takes no argument".into()),
        Some((least, most)) if least == most => {
            entry
                .facts
                .push(format!("integers that follow it: {least}"));
        }
        Some((least, most)) => {
            entry
                .facts
                .push(format!("integers that follow it: {least} to {most}"));
        }
        None => {}
    }
    if let Some(greatest) = directive.greatest() {
        entry.facts.push(format!("greatest integer: {greatest}"));
    }
    if !directive.texts().is_empty() {
        let texts = directive.texts().join("\", \"");
        entry
            .facts
            .push(format!("instead of an integer: \"{texts}\""));
    }
    if directive.ending() == Ending::Semicolon {
        entry.facts.push("ends with a semicolon".into());
    }
    entry
        .facts
        .push(since(directive.since(), directive.target()));
    if let Some(until) = directive.until() {
        entry
            .facts
            .push(format!("ptxas rejects it since PTX {until}"));
    }
    entry
}

fn position(position: DirectivePosition) -> &'static str {
    match position {
        DirectivePosition::Module => "in the module",
        DirectivePosition::Body => "in a function",
        DirectivePosition::Label => "in a function after a label",
        DirectivePosition::Entry => "after the parameters of a kernel",
        DirectivePosition::Func => "after the parameters of a function",
        DirectivePosition::Prototype => "after the parameters of a .callprototype",
        DirectivePosition::Declaration => "in a declaration",
        DirectivePosition::Parameter => "in a parameter of a kernel",
        _ => "in a debugging section",
    }
}

fn special_register(register: SpecialReg) -> Entry {
    let mut entry = Entry::new(
        EntryKind::SpecialRegister,
        register.text(),
        register.summary(),
    );
    entry.examples = vec![register_example(register).to_string().into()];
    let ty = register.scalar_type();
    entry.facts.push(if register.is_vector() {
        format!("type: .v4 {ty}, with the components .x, .y, .z and .w")
    } else {
        format!("type: {ty}")
    });
    if register.is_volatile() {
        entry
            .facts
            .push("two reads in one thread may differ".into());
    }
    entry.facts.push(match register.uniformity() {
        Uniformity::Varying => "it differs between the threads of a warp".into(),
        group => {
            let group = match group {
                Uniformity::Cta => "CTA",
                other => other.name(),
            };
            format!("the same in all threads of a {group}")
        }
    });
    if let Some(count) = register.index_of() {
        entry
            .facts
            .push(format!("counts from 0 to {count} minus 1"));
    }
    if let Some(needs) = register.needs() {
        entry
            .facts
            .push(format!("a kernel that reads it needs {needs}"));
    }
    entry.facts.push(since(register.since(), register.target()));
    entry
}

fn modifier(modifier: Modifier) -> Entry {
    let class = modifier.class();
    // The sentence of a type or a state space is in the entry of the type or space.
    let has_other_entry = modifier.scalar_type().is_some() || modifier.state_space().is_some();
    let summary = modifier.summary().filter(|_| !has_other_entry);
    let mut entry = Entry::new(
        EntryKind::Modifier,
        modifier.text(),
        summary.unwrap_or_default(),
    );
    entry.facts.push(format!("selects: {}", class.meaning()));
    let opcodes: Vec<&str> = Opcode::ALL
        .iter()
        .filter(|opcode| {
            opcode.instructions().iter().any(|i| {
                i.words().contains(&modifier) || i.forms().iter().any(|f| f.accepts(modifier))
            })
        })
        .map(|opcode| opcode.text())
        .collect();
    if !opcodes.is_empty() {
        entry
            .facts
            .push(format!("accepted by {}", opcodes.join(", ")));
    }
    entry
}
