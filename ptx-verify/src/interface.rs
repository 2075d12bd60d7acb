//! What a caller sees of a function: parameters, results, directives. Manual 5.1.6, 7.1, 11.2, 11.4, 11.7.

use alloc::format;
use alloc::string::String;
use ptx_ir::{
    Attribute, Code, Diagnostic, DirectiveStmt, FuncId, Function, FunctionKind, Interface, Linkage,
    Operand, Param, Span,
};
use ptx_isa::{Directive, PtxVersion, ScalarType, StateSpace, Target, TypeKind};

use crate::context::{Context, integer};
use crate::pragma;
use crate::stmt_tokens::Statement;
use crate::variable::{power_of_two, unified};

/// What an interface belongs to.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Owner {
    Kernel,
    Function,
    /// A `.callprototype`, whose names mean nothing.
    Prototype,
}

/// Where the header of a function ends: its `{` and its `}`, or its last word.
pub(crate) struct Ends {
    pub(crate) header: Span,
    pub(crate) open: Span,
    pub(crate) close: Span,
    /// Whether there is a body.
    pub(crate) defined: bool,
}

impl Ends {
    /// The ends of a function that stands at `whole`.
    pub(crate) fn new(context: &Context<'_>, id: FuncId, whole: Span) -> Self {
        match context.module.body(id) {
            Some(body) => Self {
                header: Span::new(whole.start, body.base().max(whole.start)),
                open: Span::new(body.base(), body.base() + 1),
                close: Span::new(
                    (body.base() + body.end()).saturating_sub(1),
                    body.base() + body.end(),
                ),
                defined: true,
            },
            None => {
                let last = Span::new(whole.end.saturating_sub(1), whole.end);
                Self {
                    header: whole,
                    open: last,
                    close: last,
                    defined: false,
                }
            }
        }
    }
}

/// Checks the header of one function.
pub(crate) fn check(context: &mut Context<'_>, id: FuncId, function: &Function, whole: Span) {
    if function.raw_header {
        return;
    }
    let ends = Ends::new(context, id, whole);
    let statement = context.statement(ends.header);
    if function.linkage == Some(Linkage::Weak) {
        floor(
            context,
            Directive::Weak,
            statement.find(Directive::Weak.text()),
        );
    }
    if function.linkage == Some(Linkage::Common) {
        let at = statement.find(Directive::Common.text());
        let message = "`.common` is for variables, not for functions";
        context.error(Code::Linkage, at, message.into());
    }
    for attribute in function
        .attributes
        .of(&context.module.declarations().attributes)
    {
        if let Attribute::Unified(..) = attribute {
            unified(context, &statement);
        }
        if *attribute == Attribute::Managed {
            let message = "`.managed` is for variables, not for functions";
            context.error(Code::Attribute, statement.find(".managed"), message.into());
        }
    }
    let owner = match function.kind {
        FunctionKind::Entry => Owner::Kernel,
        FunctionKind::Func => Owner::Function,
    };
    parameters(context, &function.interface, owner, &statement);
    if owner == Owner::Kernel && function.body.is_some() {
        space_of_parameters(context, function, &ends);
    }
    directives(context, &function.interface, owner, &statement, &ends);
}

/// Checks a `.callprototype`.
pub(crate) fn check_prototype(context: &mut Context<'_>, interface: &Interface, whole: Span) {
    let statement = context.statement(whole);
    parameters(context, interface, Owner::Prototype, &statement);
    for stmt in interface
        .directives
        .of(context.module.interface_directives())
    {
        let at = statement.find(stmt.directive.text());
        floor(context, stmt.directive, at);
    }
}

fn parameters(
    context: &mut Context<'_>,
    interface: &Interface,
    owner: Owner,
    statement: &Statement<'_>,
) {
    let params = interface.params.of(context.module.params());
    let returns = interface.returns.of(context.module.params());
    for (i, param) in returns.iter().enumerate() {
        let count = context.found.len();
        parameter(context, param, owner, statement);
        let at = name_of(context, param, statement);
        if context.found.len() > count {
            continue;
        }
        if is_incomplete(context, param) {
            let message = "a result cannot be an array without its size";
            context.error(Code::Parameter, at, message.into());
        } else if i > 0 && returns.iter().any(|r| r.space != StateSpace::Reg) {
            let message = "several results must all be in `.reg`";
            context.error(Code::Parameter, at, message.into()).help =
                Some("return one array in `.param`, or registers".into());
        }
    }
    for (i, param) in params.iter().enumerate() {
        let count = context.found.len();
        parameter(context, param, owner, statement);
        if context.found.len() > count || !is_incomplete(context, param) {
            continue;
        }
        let at = name_of(context, param, statement);
        if owner == Owner::Kernel {
            let message = "a parameter of a kernel cannot be an array without its size";
            context.error(Code::Parameter, at, message.into());
        } else if i + 1 < params.len() {
            let message = "only the last parameter can be an array without its size";
            context.error(Code::Parameter, at, message.into());
        }
    }
}

fn is_incomplete(context: &Context<'_>, param: &Param) -> bool {
    let pool = context.module.pool();
    let first = pool.slice(param.dims).first();
    first.is_some_and(|d| *d == Operand::Absent || integer(pool, *d) == Some(0))
}

fn name_of(context: &Context<'_>, param: &Param, statement: &Statement<'_>) -> Span {
    let name = param.name.map_or("_", |n| context.module.name(n));
    statement.find(name)
}

/// Parameters in `.param` begin with the calling convention that has a stack, for functions; arrays of any size later.
fn by_stack(context: &mut Context<'_>, param: &Param, owner: Owner, at: Span) {
    let (what, version, target) = if owner == Owner::Kernel {
        (
            "a list of parameters of a kernel",
            PtxVersion::new(1, 4),
            None,
        )
    } else if is_incomplete(context, param) {
        let what = "a parameter that is an array without its size";
        (what, PtxVersion::new(6, 0), Some(Target::Sm30))
    } else if param.space == StateSpace::Param {
        let what = "a parameter of a function in `.param`";
        (what, PtxVersion::new(2, 0), Some(Target::Sm20))
    } else {
        return;
    };
    context.need(Code::Parameter, |_| at, &what, version, target);
}

fn parameter(context: &mut Context<'_>, param: &Param, owner: Owner, statement: &Statement<'_>) {
    let Some(ty) = param.ty.known() else { return };
    let pool = context.module.pool();
    let at = name_of(context, param, statement);
    let opaque = ty.kind() == TypeKind::Opaque;
    let register = param.space == StateSpace::Reg;
    if owner == Owner::Function && param.name.is_none() {
        let message = "a parameter of a function needs a name; `_` is for prototypes and kernels";
        context.error(Code::Parameter, at, message.into());
        return;
    }
    if owner == Owner::Kernel && param.space != StateSpace::Param {
        let message = format!(
            "a parameter of a kernel is in `.param`, not in `{}`",
            param.space
        );
        context.error(Code::Parameter, at, message);
        return;
    }
    if !matches!(param.space, StateSpace::Param | StateSpace::Reg) {
        let message = format!(
            "a parameter is in `.param` or in `.reg`, not in `{}`",
            param.space
        );
        context.error(Code::Parameter, at, message);
        return;
    }
    if param.dims.len() > 1 {
        let message = "a parameter has one dimension at most";
        context.error(Code::Parameter, at, message.into()).help =
            Some("declare one dimension with all elements".into());
        return;
    }
    let mut sizes = pool
        .slice(param.dims)
        .iter()
        .filter_map(|d| integer(pool, *d));
    if let Some(size) = sizes.find(|s| u32::try_from(*s).is_err()) {
        let message = format!("a parameter has at most 2^32 - 1 elements, not {size}");
        context.error(Code::Parameter, at, message);
        return;
    }
    if !opaque && !ty.is_register_type() {
        let message = format!("`{ty}` is a type of instructions alone, no parameter can have it");
        context.error(Code::VariableType, statement.find(ty.text()), message);
        return;
    }
    let what = format!("a parameter of type `{ty}`");
    context.need(
        Code::VariableType,
        |_| statement.find(ty.text()),
        &what,
        ty.since(),
        ty.target(),
    );
    by_stack(context, param, owner, at);
    let problem: Option<String> = if register {
        let array = !param.dims.is_empty();
        (opaque || array).then(|| "a parameter in `.reg` is a plain register".into())
    } else if ty == ScalarType::Pred {
        Some("a predicate can only be in `.reg`, not in `.param`".into())
    } else if opaque && owner != Owner::Kernel {
        Some(format!("a parameter of type `{ty}` is for kernels"))
    } else if ty == ScalarType::Samplerref && !context.environment.independent_textures {
        Some("samplers of their own need `texmode_independent` in `.target`".into())
    } else if !opaque && (param.vector > 1 || !ty.is_parameter_type()) {
        Some(format!(
            "a parameter in `.param` cannot be {}",
            match param.vector {
                0 | 1 => format!("of type `{ty}`"),
                n => format!("a vector of {n}"),
            }
        ))
    } else {
        None
    };
    if let Some(message) = problem {
        context.error(Code::Parameter, at, message);
        return;
    }
    if let Some(ptr) = &param.ptr {
        if owner != Owner::Kernel {
            let message = "`.ptr` is for parameters of kernels";
            context.error(Code::Parameter, at, message.into());
            return;
        }
        if let Some(space) = ptr
            .space
            .filter(|s| !s.is_generic() && *s != StateSpace::Const)
        {
            let message = format!("a pointer to `{space}` cannot be a parameter");
            context.error(Code::Parameter, statement.find(space.text()), message);
        }
        if let Some(opaque) = ptr.opaque {
            let what = format!("a pointer to `{opaque}` as a parameter");
            let place = |_: &Context<'_>| statement.find(opaque.text());
            context.need(Code::Parameter, place, &what, PtxVersion::new(4, 3), None);
        }
        if let Some(align) = integer(pool, ptr.align) {
            power_of_two(context, align, at);
        }
    }
    if let Some(align) = integer(pool, param.align) {
        power_of_two(context, align, at);
        if owner != Owner::Kernel && !register && align > 128 && align.count_ones() == 1 {
            let message = format!("a parameter is aligned to at most 128 bytes, not {align}");
            context.error(Code::Alignment, at, message);
        }
    }
}

/// The bytes of a parameter and their alignment.
pub(crate) fn size_of(context: &Context<'_>, param: &Param) -> Option<(i64, i64)> {
    let ty = param.ty.known()?;
    let pool = context.module.pool();
    let opaque = ty.kind() == TypeKind::Opaque;
    let bytes = if opaque { 8 } else { i64::from(ty.bits() / 8) };
    let mut size = bytes.checked_mul(param.vector.into())?;
    for &dim in pool.slice(param.dims) {
        size = size.checked_mul(integer(pool, dim).unwrap_or(0))?;
    }
    let align = integer(pool, param.align).filter(|a| *a > 0);
    Some((size, align.unwrap_or(bytes.max(1))))
}

/// All parameters of a kernel together: 4352 bytes, 32764 since PTX 8.1 on sm_70.
fn space_of_parameters(context: &mut Context<'_>, function: &Function, ends: &Ends) {
    const FEW: i64 = 4352;
    const MANY: i64 = 32764;
    let mut end = 0i64;
    for param in function.interface.params.of(context.module.params()) {
        let Some((size, align)) = size_of(context, param) else {
            return;
        };
        end = (end + align - 1) / align * align;
        end = end.saturating_add(size);
    }
    let name = context.module.name(function.name);
    if end > MANY {
        let message =
            format!("the parameters of `{name}` take {end} bytes, and {MANY} is the most");
        context
            .error(Code::ParameterSpace, ends.close, message)
            .help = Some("pass a pointer to the data".into());
    } else if end > FEW {
        let what = format!("a list of parameters of {end} bytes, more than {FEW},");
        let (version, target) = (PtxVersion::new(8, 1), Some(Target::Sm70));
        context.need(Code::ParameterSpace, |_| ends.close, &what, version, target);
    }
}

fn directives(
    context: &mut Context<'_>,
    interface: &Interface,
    owner: Owner,
    statement: &Statement<'_>,
    ends: &Ends,
) {
    let all = interface
        .directives
        .of(context.module.interface_directives());
    if let Some(first) = all.first().filter(|d| {
        let own = owner == Owner::Kernel || d.directive == Directive::LocalMaxnreg;
        own && !ends.defined
    }) {
        let at = statement.find(first.directive.text());
        let what = match owner {
            Owner::Kernel => "kernel",
            _ => "function",
        };
        let message = format!(
            "`{}` belongs to the definition of the {what}",
            first.directive
        );
        context.error(Code::DirectiveConflict, at, message);
        return;
    }
    let written = |d: Directive| all.iter().any(|s| s.directive == d);
    for (i, stmt) in all.iter().enumerate() {
        let at = statement.find(stmt.directive.text());
        floor(context, stmt.directive, at);
        value(context, stmt, at);
        let pool = context.module.pool();
        pragma::check(context, stmt, pool, pragma::Place::Outside, ends.header);
        let again = all
            .get(..i)
            .is_some_and(|b| b.iter().any(|s| s.directive == stmt.directive));
        let once = matches!(
            stmt.directive,
            Directive::AbiPreserve | Directive::AbiPreserveControl | Directive::Noreturn
        );
        if again && once {
            let message = format!("`{}` stands twice", stmt.directive);
            context.error(Code::DirectiveConflict, at, message);
        }
    }
    let pairs = [
        (Directive::Maxntid, Directive::Reqntid),
        (Directive::Reqnctapercluster, Directive::Maxclusterrank),
    ];
    for (a, b) in pairs {
        if written(a) && written(b) {
            let message = format!("`{a}` and `{b}` contradict each other");
            let (first, second) = (statement.find(a.text()), statement.find(b.text()));
            let at = if a == Directive::Maxntid {
                ends.close
            } else {
                if first.start > second.start {
                    first
                } else {
                    second
                }
            };
            let error = context.error(Code::DirectiveConflict, at, message);
            *error = error
                .clone()
                .with_label(first, "one")
                .with_label(second, "the other");
        }
    }
    let clusters = Directive::Blocksareclusters;
    if written(clusters) && !(written(Directive::Reqntid) && written(Directive::Reqnctapercluster))
    {
        let message = format!(
            "`{clusters}` needs `{}` and `{}` beside it",
            Directive::Reqntid,
            Directive::Reqnctapercluster
        );
        let label = statement.find(clusters.text());
        let error = context.error(Code::DirectiveConflict, ends.close, message);
        *error = error.clone().with_label(label, "needs them");
    }
    if owner == Owner::Kernel
        && written(Directive::Minnctapersm)
        && !written(Directive::Maxntid)
        && !written(Directive::Reqntid)
    {
        let at = statement.find(Directive::Minnctapersm.text());
        context.found.push(Diagnostic::warning(
            Code::DirectiveConflict,
            at,
            "`.minnctapersm` has no effect without `.maxntid` or `.reqntid`",
        ));
    }
    let results = interface.returns.len > 0;
    if owner == Owner::Function && written(Directive::Noreturn) && results {
        let message = "a function that does not return has no results";
        context.error(Code::DirectiveConflict, ends.open, message.into());
    }
}

/// Whether the version and the target have the directive.
pub(crate) fn floor(context: &mut Context<'_>, directive: Directive, at: Span) {
    if let Some(until) = directive
        .until()
        .filter(|until| *until <= context.version())
    {
        let message = format!("`{directive}` is gone since PTX {until}");
        context.error(Code::DirectiveFloor, at, message);
        return;
    }
    let what = format!("`{directive}`");
    let (version, target) = (directive.since(), directive.target());
    context.need(Code::DirectiveFloor, |_| at, &what, version, target);
}

/// So many control registers can be kept.
const CONTROL: i64 = 11;

fn value(context: &mut Context<'_>, stmt: &DirectiveStmt, at: Span) {
    let positive = matches!(
        stmt.directive,
        Directive::Maxntid
            | Directive::Reqntid
            | Directive::Maxnreg
            | Directive::LocalMaxnreg
            | Directive::Minnctapersm
    );
    let pool = context.module.pool();
    let values = pool
        .slice(stmt.args)
        .iter()
        .filter_map(|a| integer(pool, *a));
    if values.clone().any(|v| u32::try_from(v).is_err()) {
        let message = format!("`{}` takes numbers of 32 bits", stmt.directive);
        context.error(Code::DirectiveValue, at, message);
        return;
    }
    let control = stmt.directive == Directive::AbiPreserveControl;
    if control && values.clone().any(|v| v > CONTROL) {
        let message = format!("`{}` takes numbers up to {CONTROL}", stmt.directive);
        context.error(Code::DirectiveValue, at, message);
    }
    if positive && values.into_iter().any(|v| v <= 0) {
        let message = format!("`{}` takes numbers above zero", stmt.directive);
        context.error(Code::DirectiveValue, at, message);
    }
}
