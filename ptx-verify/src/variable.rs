//! Declarations of variables: space, type, vector, dimensions, alignment, attributes, linkage. Manual 5.1 to 5.4, 11.6.

use alloc::format;
use ptx_ir::{
    Attribute, Code, Declarations, Declarator, Linkage, Operand, OperandPool, PrimaryMap, Span,
    Var, VarDecl, VarId,
};
use ptx_isa::{Directive, PtxVersion, ScalarType, StateSpace, Target, TypeKind};

use crate::context::{Context, integer};
use crate::stmt_tokens::Statement;
use crate::{initializer, interface};

/// Where a declaration stands.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    Module,
    Body,
}

/// The tables a declaration is in.
#[derive(Copy, Clone)]
pub(crate) struct Tables<'m> {
    pub(crate) declarations: &'m Declarations,
    pub(crate) pool: &'m OperandPool,
    /// The variables of the body, for a declaration in one.
    pub(crate) vars: Option<&'m PrimaryMap<VarId, Var>>,
}

/// Checks one declaration statement.
pub(crate) fn check(
    context: &mut Context<'_>,
    tables: Tables<'_>,
    decl: &VarDecl,
    scope: Scope,
    span: Span,
) {
    let Some(ty) = decl.ty.known() else { return };
    let declarators = decl.declarators.of(&tables.declarations.declarators);
    let old = PtxVersion::new(1, 0);
    let known = ty.is_register_type() && ty.since() == old && ty.target().is_none();
    if plain(decl) && scope == Scope::Body && known {
        let simple = |d: &Declarator| d.dims.is_empty() && d.init == Operand::Absent;
        if declarators.iter().all(simple) {
            return;
        }
    }
    let count = context.found.len();
    let statement = context.statement(span);
    of_all(context, tables, decl, ty, scope, &statement);
    if context.found.len() > count {
        return;
    }
    for declarator in declarators {
        let count = context.found.len();
        of_one(context, tables.pool, decl, ty, declarator, &statement);
        if context.found.len() == count && declarator.init != Operand::Absent {
            initializer::check(context, tables, decl, ty, declarator, &statement);
        }
    }
}

/// A declaration of registers without anything special, as nearly all are.
fn plain(decl: &VarDecl) -> bool {
    decl.space == StateSpace::Reg
        && decl.vector == 1
        && decl.align == Operand::Absent
        && decl.linkage.is_none()
        && decl.attributes.len == 0
}

/// What holds for all names of a declaration.
fn of_all(
    context: &mut Context<'_>,
    tables: Tables<'_>,
    decl: &VarDecl,
    ty: ScalarType,
    scope: Scope,
    statement: &Statement<'_>,
) {
    let opaque = ty.kind() == TypeKind::Opaque;
    let space = decl.space;
    let at = statement.find(space.text());
    if decl.bank != Operand::Absent && context.version() >= PtxVersion::new(2, 2) {
        context
            .error(
                Code::VariablePlace,
                at,
                "banks of `.const` are gone since PTX 2.2".into(),
            )
            .help = Some("declare an array in `.const` without a number".into());
        return;
    }
    if space == StateSpace::Sreg {
        let message = "special registers are there without a declaration";
        context.error(Code::VariablePlace, at, message.into());
        return;
    }
    if let Some(linkage) = decl.linkage.filter(|_| scope == Scope::Body) {
        let at = statement.find(linkage.directive().text());
        let message = format!(
            "`{}` is for declarations outside of functions",
            linkage.directive().text()
        );
        context.error(Code::Linkage, at, message).help =
            Some("move the declaration in front of the function".into());
        return;
    }
    if space == StateSpace::Tex {
        let integer = matches!(ty, ScalarType::U32 | ScalarType::U64);
        let message = if !integer {
            "a variable in `.tex` is of type `.u32` or `.u64`"
        } else if scope == Scope::Body {
            "a variable in `.tex` stands outside of functions"
        } else if Directive::Tex
            .until()
            .is_some_and(|until| until <= context.version())
        {
            "variables in `.tex` are gone since PTX 1.5"
        } else {
            return;
        };
        context.error(Code::VariablePlace, at, message.into()).help =
            Some("declare a `.global .texref`".into());
        return;
    }
    let type_at = statement.find(ty.text());
    if !opaque && !ty.is_register_type() {
        let message = format!("`{ty}` is a type of instructions alone, no variable can have it");
        context.error(Code::VariableType, type_at, message);
        return;
    }
    if ty == ScalarType::Pred && space != StateSpace::Reg {
        let message = format!("a predicate can only be in `.reg`, not in `{space}`");
        context.error(Code::VariableType, type_at, message);
        return;
    }
    vector(context, decl, ty, statement);
    if opaque && !opaque_place(context, space, scope, ty, type_at) {
        return;
    }
    let what = format!("a variable of type `{ty}`");
    context.need(
        Code::VariableType,
        |_| type_at,
        &what,
        ty.since(),
        ty.target(),
    );
    let directive = match decl.linkage {
        Some(Linkage::Weak) => Some(Directive::Weak),
        Some(Linkage::Common) => Some(Directive::Common),
        _ => None,
    };
    let attribute = (decl.attributes.len > 0).then_some(Directive::Attribute);
    for directive in [directive, attribute].into_iter().flatten() {
        let at = statement.find(directive.text());
        interface::floor(context, directive, at);
    }
    if space == StateSpace::Param && !opaque && (decl.vector > 1 || !ty.is_parameter_type()) {
        let what = if decl.vector > 1 {
            "a vector"
        } else {
            ty.text()
        };
        let message = format!("a variable in `.param` cannot be of type {what}");
        context.error(Code::VariableType, type_at, message).help =
            Some("declare an array of `.b8` or a scalar".into());
    } else if scope == Scope::Module {
        let message = match space {
            StateSpace::Reg => "registers stand in functions",
            StateSpace::Local => "variables in `.local` stand in functions",
            StateSpace::Param => "variables in `.param` stand in functions",
            _ => "",
        };
        // Both were possible before there were calls.
        let calls = context.version() >= PtxVersion::new(3, 0);
        if !message.is_empty() && (calls || space == StateSpace::Param) {
            context.error(Code::VariablePlace, at, message.into());
        }
    }
    alignment(context, tables.pool, decl, statement);
    attributes(context, tables, decl, statement);
    if decl.linkage == Some(Linkage::Common) {
        let common = statement.find(Directive::Common.text());
        if space != StateSpace::Global {
            let message = format!("`.common` is for variables in `.global`, not in `{space}`");
            context.error(Code::Linkage, common, message);
        } else if opaque {
            let message = format!("`.common` is not for variables of type `{ty}`");
            context.error(Code::Linkage, common, message);
        }
    }
}

fn vector(context: &mut Context<'_>, decl: &VarDecl, ty: ScalarType, statement: &Statement<'_>) {
    if decl.vector < 2 {
        return;
    }
    let message = if ty.kind() == TypeKind::Opaque {
        format!("there are no vectors of `{ty}`")
    } else if ty == ScalarType::Pred {
        "there are no vectors of predicates".into()
    } else if !matches!(decl.vector, 2 | 4) {
        format!("a declared vector has 2 or 4 elements, not {}", decl.vector)
    } else if u32::from(decl.vector) * u32::from(ty.bits()) > 128 {
        format!(
            "a vector has at most 128 bits; {} of `{ty}` have {}",
            decl.vector,
            u32::from(decl.vector) * u32::from(ty.bits())
        )
    } else {
        return;
    };
    context.error(Code::VectorType, statement.word(".v"), message);
}

/// Whether a handle of a texture or surface may be declared there.
fn opaque_place(
    context: &mut Context<'_>,
    space: StateSpace,
    scope: Scope,
    ty: ScalarType,
    at: Span,
) -> bool {
    let message = if scope == Scope::Body {
        format!(
            "a variable of type `{ty}` stands outside of functions or is a parameter of a kernel"
        )
    } else if space != StateSpace::Global {
        format!("a variable of type `{ty}` is in `.global`, not in `{space}`")
    } else if ty == ScalarType::Samplerref && !context.environment.independent_textures {
        "samplers of their own need `texmode_independent` in `.target`".into()
    } else {
        return true;
    };
    context.error(Code::VariablePlace, at, message);
    false
}

pub(crate) fn alignment(
    context: &mut Context<'_>,
    pool: &OperandPool,
    decl: &VarDecl,
    statement: &Statement<'_>,
) {
    let Some(align) = integer(pool, decl.align) else {
        return;
    };
    let at = statement.after(Directive::Align.text(), Directive::Align.text());
    power_of_two(context, align, at);
    if decl.space == StateSpace::Param && align > 128 && align.count_ones() == 1 {
        let message = format!("a parameter is aligned to at most 128 bytes, not {align}");
        context.error(Code::Alignment, at, message);
    }
}

/// Reports an alignment that is no power of two.
pub(crate) fn power_of_two(context: &mut Context<'_>, align: i64, at: Span) {
    if align.count_ones() != 1 || u32::try_from(align).is_err() {
        let message = format!("an alignment is a power of two of 32 bits; {align} is none");
        context.error(Code::Alignment, at, message);
    }
}

fn attributes(
    context: &mut Context<'_>,
    tables: Tables<'_>,
    decl: &VarDecl,
    statement: &Statement<'_>,
) {
    for attribute in decl.attributes.of(&tables.declarations.attributes) {
        if let Attribute::Unified(..) = attribute {
            unified(context, statement);
        }
        if decl.space == StateSpace::Global {
            continue;
        }
        let name = match attribute {
            Attribute::Managed => ".managed",
            Attribute::Unified(..) => ".unified",
            Attribute::Unknown(_) => continue,
        };
        let message = format!(
            "`{name}` is for variables in `.global`, not in `{}`",
            decl.space
        );
        context.error(Code::Attribute, statement.find(name), message);
    }
}

/// `.unified` came later than other attributes.
pub(crate) fn unified(context: &mut Context<'_>, statement: &Statement<'_>) {
    let at = statement.find(".unified");
    let (version, target) = (PtxVersion::new(8, 0), Some(Target::Sm90));
    context.need(Code::Attribute, |_| at, &"`.unified`", version, target);
}

/// What holds for one name of a declaration.
fn of_one(
    context: &mut Context<'_>,
    pool: &OperandPool,
    decl: &VarDecl,
    _ty: ScalarType,
    declarator: &Declarator,
    statement: &Statement<'_>,
) {
    let name = context.module.name(declarator.name);
    let at = statement.find(name);
    let dims = pool.slice(declarator.dims);
    if declarator.count != Operand::Absent && declarator.init != Operand::Absent {
        let message = format!("`{name}` is a range of variables and cannot have an initial value");
        context.error(Code::InitialPlace, at, message);
        return;
    }
    let none = |d: &Operand| *d == Operand::Absent || integer(pool, *d) == Some(0);
    if dims.iter().skip(1).any(none) {
        let message = format!("a dimension of `{name}` has no elements");
        context.error(Code::IncompleteArray, at, message);
        return;
    }
    if decl.space == StateSpace::Reg && !dims.is_empty() {
        context
            .error(
                Code::VariablePlace,
                at,
                format!("`{name}` is a register, and there are no arrays of them"),
            )
            .help = Some(format!("declare a range of registers: `{name}<4>`"));
        return;
    }
    let sized_by_value =
        declarator.init != Operand::Absent && dims.first() == Some(&Operand::Absent);
    let external = decl.linkage == Some(Linkage::Extern);
    if dims.first().is_some_and(none) && !external && !sized_by_value {
        let message = format!("`{name}` has no size: only an external array may do without");
        context.error(Code::IncompleteArray, at, message);
    }
}
