//! The texts of declarations, as they are written in PTX.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::{
    Attribute, Declarator, DirectiveStmt, Linkage, Module, Operand, OperandPool, OperandRange,
    Param, TypeName, VarDecl,
};
use ptx_isa::{Directive, StateSpace};

/// The words of a declaration, without its names.
fn words(module: &Module, pool: &OperandPool, decl: &VarDecl) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(decl.linkage.map(linkage));
    words.push(decl.space.text().to_owned());
    words.extend(align(pool, decl.align));
    words.push(ty(module, decl.ty, decl.vector));
    words
}

pub(crate) fn linkage(linkage: Linkage) -> String {
    linkage.directive().text().to_owned()
}

fn align(pool: &OperandPool, operand: Operand) -> Option<String> {
    let bytes = pool.integer(operand)?;
    Some(format!(".align {bytes}"))
}

fn ty(module: &Module, ty: TypeName, vector: u8) -> String {
    let text = match ty {
        TypeName::Known(ty) => ty.text(),
        TypeName::Unknown(name) => module.name(name),
    };
    match vector {
        0 | 1 => text.to_owned(),
        n => format!(".v{n} {text}"),
    }
}

fn dims(module: &Module, pool: &OperandPool, range: OperandRange) -> String {
    pool.slice(range)
        .iter()
        .map(|dim| format!("[{}]", operand(module, pool, *dim)))
        .collect()
}

/// `.shared .align 4 .b8 buffer[64]`
pub(crate) fn variable(
    module: &Module,
    pool: &OperandPool,
    attributes: &[Attribute],
    decl: &VarDecl,
    declarator: &Declarator,
) -> String {
    let mut words = words(module, pool, decl);
    let attributes = self::attributes(module, decl.attributes.of(attributes));
    if !attributes.is_empty() {
        words.insert(words.len() - 1, attributes);
    }
    let count = match pool.integer(declarator.count) {
        Some(count) => format!("<{count}>"),
        None => String::new(),
    };
    let dims = dims(module, pool, declarator.dims);
    words.push(format!("{}{count}{dims}", module.name(declarator.name)));
    words.join(" ")
}

/// `.param .u64 .ptr .global .align 16`
pub(crate) fn parameter(module: &Module, param: &Param) -> String {
    let pool = module.pool();
    let mut words = Vec::new();
    if param.hidden {
        words.push(Directive::Hidden.text().to_owned());
    }
    if param.space != StateSpace::Param {
        words.push(param.space.text().to_owned());
    }
    words.extend(align(pool, param.align));
    words.push(ty(module, param.ty, param.vector));
    if let Some(pointer) = param.ptr {
        words.push(".ptr".to_owned());
        words.extend(pointer.space.map(|space| space.text().to_owned()));
        words.extend(pointer.opaque.map(|ty| ty.text().to_owned()));
        words.extend(align(pool, pointer.align));
    }
    words.extend(align(pool, param.trailing_align));
    words.join(" ") + &dims(module, pool, param.dims)
}

/// `.attribute(.managed)`, or nothing.
pub(crate) fn attributes(module: &Module, attributes: &[Attribute]) -> String {
    let pool = module.pool();
    let texts: Vec<String> = attributes
        .iter()
        .map(|attribute| match *attribute {
            Attribute::Managed => ".managed".to_owned(),
            Attribute::Unified(first, second) => {
                let first = operand(module, pool, first);
                let second = operand(module, pool, second);
                format!(".unified({first}, {second})")
            }
            Attribute::Unknown(name) => module.name(name).to_owned(),
            _ => String::new(),
        })
        .collect();
    match texts[..] {
        [] => String::new(),
        _ => format!(".attribute({})", texts.join(", ")),
    }
}

/// `.maxntid 128, 1, 1`
pub(crate) fn directive(module: &Module, directive: &DirectiveStmt) -> String {
    let arguments: Vec<String> = module
        .pool()
        .slice(directive.args)
        .iter()
        .map(|argument| operand(module, module.pool(), *argument))
        .collect();
    format!("{} {}", directive.directive.text(), arguments.join(", "))
        .trim_end()
        .to_owned()
}

/// The text of an operand without parts; `…` for an operand with parts.
pub(crate) fn operand(module: &Module, pool: &OperandPool, operand: Operand) -> String {
    let name = |id| module.name(id).to_owned();
    match operand {
        Operand::Small(value) => value.to_string(),
        Operand::Imm(id) => pool.immediate(id).map(|i| name(i.text)).unwrap_or_default(),
        Operand::Symbol(id) => {
            let symbol = module.symbols().get(id);
            symbol.map(|s| name(s.name)).unwrap_or_default()
        }
        Operand::Name(id) | Operand::Str(id) | Operand::Section(id) => name(id),
        Operand::Absent => String::new(),
        _ => "…".to_owned(),
    }
}
