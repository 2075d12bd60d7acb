//! The values of the fields of an instruction. The functions that [`FIELDS`](super::fields::FIELDS) names pass them to a visitor.

use ptx_ir::facts::{Callees, Flow, MemoryAccess};
use ptx_ir::raw::OperandSlot;
use ptx_ir::{Operand, OperandWalk, Signature};
use ptx_isa::{Arch, Modifier, ModifierClass, PtxVersion, Target};

use super::site::Site;
use ptx_report::function_stats;
use ptx_report::labels;

/// A value of a field.
#[derive(Copy, Clone)]
pub(crate) enum Value<'v> {
    Flag(bool),
    Number(i64),
    Text(&'v str),
    /// One value with several names.
    Names([&'v str; 2]),
    /// A name, mangled and demangled.
    Spellings(&'v [String]),
}

/// The visitor of values.
pub(crate) type Visit<'v> = &'v mut dyn FnMut(Value<'_>);

type At<'s, 'f, 'a> = &'s Site<'f, 'a>;
/// The number of an operand whose values are visited; `None` for all operands.
type Operands = Option<usize>;

fn flag(value: bool, visit: Visit<'_>) {
    visit(Value::Flag(value));
}

fn number(value: impl Into<i64>, visit: Visit<'_>) {
    visit(Value::Number(value.into()));
}

fn word(text: &str, visit: Visit<'_>) {
    visit(Value::Text(text.trim_start_matches('.')));
}

/// Visits a path, which also matches by its last part.
fn path(path: &str, visit: Visit<'_>) {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    visit(Value::Names([path, name]));
}

/// Visits a name of the program, which also matches by its demangled forms.
fn spelled(site: At<'_, '_, '_>, name: &str, visit: Visit<'_>) {
    visit(Value::Spellings(&site.function.spellings(name)));
}

pub(super) fn nothing(_: At<'_, '_, '_>, _: Operands, _: Visit<'_>) {}

// Opcode and modifiers.

fn signature<'a>(site: At<'_, '_, 'a>) -> Option<Signature<'a>> {
    let sig = site.function.body.inst(site.inst)?.sig;
    Some(site.module().signature(sig))
}

pub(super) fn mnemonic(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    visit(Value::Text(site.mnemonic()));
}

pub(super) fn opcode(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    if let Some(opcode) = site.mnemonic().split('.').next() {
        word(opcode, visit);
    }
}

pub(super) fn modifier(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    for modifier in signature(site).into_iter().flat_map(|s| s.modifiers()) {
        word(modifier.text(), visit);
    }
}

pub(super) fn types(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    for ty in signature(site).into_iter().flat_map(|s| s.types()) {
        word(ty.text(), visit);
    }
}

pub(super) fn vector(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    if let Some(signature) = signature(site) {
        number(signature.vector_len(), visit);
    }
}

pub(super) fn class(site: At<'_, '_, '_>, class: ModifierClass, visit: Visit<'_>) {
    let mut modifiers = signature(site)
        .into_iter()
        .flat_map(|s| s.of_class(class))
        .peekable();
    if modifiers.peek().is_none() {
        word("none", visit);
    }
    for modifier in modifiers {
        word(modifier.text(), visit);
    }
}

pub(super) fn family(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    word(function_stats::family(&site.facts), visit);
}

pub(super) fn known(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    flag(site.facts.is_known(), visit);
}

// Operands.

pub(super) fn text(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    visit(Value::Text(&site.text()));
}

pub(super) fn operand(site: At<'_, '_, '_>, index: Operands, visit: Visit<'_>) {
    let operands = super::operands(site.span().of(site.module().source()));
    if let Some(operand) = index.and_then(|index| operands.get(index)) {
        visit(Value::Text(operand));
    }
}

pub(super) fn operands(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    for operand in super::operands(site.span().of(site.module().source())) {
        visit(Value::Text(&operand));
    }
}

/// The operands with their parts, or the parts of one operand.
fn parts<'a>(site: At<'_, '_, 'a>, index: Operands) -> Option<OperandWalk<'a>> {
    let body = site.function.body;
    let range = body.inst(site.inst)?.operands();
    let Some(index) = index else {
        return Some(body.pool().walk(range));
    };
    let operand = *body.pool().slice(range).get(index)?;
    let slot = OperandSlot::Pool(range.at(index as u32));
    Some(body.pool().walk_stored(slot, operand))
}

pub(super) fn immediate(site: At<'_, '_, '_>, index: Operands, visit: Visit<'_>) {
    let pool = site.function.body.pool();
    for (slot, operand) in parts(site, index).into_iter().flat_map(OperandWalk::stored) {
        // Constants in other slots are parts of addresses.
        if let OperandSlot::Pool(_) = slot
            && let Some(integer) = pool.integer(operand)
        {
            number(integer, visit);
        }
    }
}

pub(super) fn register_type(site: At<'_, '_, '_>, index: Operands, visit: Visit<'_>) {
    for operand in parts(site, index).into_iter().flatten() {
        if let Operand::Reg(register) = operand
            && let Some(decl) = site.function.body.reg_decl_of(register)
            && let Some(ty) = decl.ty.known()
        {
            word(ty.text(), visit);
        }
    }
}

pub(super) fn special(site: At<'_, '_, '_>, index: Operands, visit: Visit<'_>) {
    for operand in parts(site, index).into_iter().flatten() {
        if let Operand::Special(register) = operand {
            word(register.text(), visit);
        }
    }
}

/// The name of a variable, a parameter or a function.
fn name(site: At<'_, '_, '_>, operand: Operand) -> Option<String> {
    let (name, number) = match operand {
        Operand::Symbol(id) => {
            let symbol = site.module().symbols().get(id)?;
            (symbol.name, symbol.number)
        }
        Operand::Var(id) => {
            let var = site.function.body.vars().get(id)?;
            (var.name, var.number)
        }
        _ => return None,
    };
    let number = number.map_or_else(String::new, |n| n.to_string());
    Some(format!("{}{number}", site.module().name(name)))
}

pub(super) fn symbol(site: At<'_, '_, '_>, index: Operands, visit: Visit<'_>) {
    for (_, operand) in parts(site, index).into_iter().flat_map(OperandWalk::stored) {
        if let Some(name) = name(site, operand) {
            spelled(site, &name, visit);
        }
    }
}

pub(super) fn reads(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    site.registers(|r| r.usage.reads(), |name| visit(Value::Text(name)));
}

pub(super) fn writes(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    site.registers(|r| r.usage.writes(), |name| visit(Value::Text(name)));
}

pub(super) fn cond_writes(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    site.registers(|r| r.usage.may_write(), |name| visit(Value::Text(name)));
}

pub(super) fn guard(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    if let Some(guard) = site.guard() {
        visit(Value::Text(&guard));
    }
}

pub(super) fn guarded(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    flag(site.facts.guard().is_some(), visit);
}

// Place.

pub(super) fn file(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    path(site.function.module.file, visit);
}

pub(super) fn line(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    number(
        site.function.module.lines.position(site.span().start).line,
        visit,
    );
}

pub(super) fn function(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    spelled(site, site.function.name(), visit);
}

pub(super) fn kind(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    word(labels::kind(site.function.function.kind), visit);
}

pub(super) fn block(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    if let Some((id, _)) = site.block() {
        number(id.as_u32(), visit);
    }
}

pub(super) fn label(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    let label = site.block().and_then(|(_, block)| block.label);
    if let Some(label) = label.and_then(|label| site.function.body.labels().get(label)) {
        visit(Value::Text(site.module().name(label.name)));
    }
}

pub(super) fn reachable(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    let dominators = site.function.analysis.dominators();
    let block = site.block();
    flag(
        block.is_some_and(|(id, _)| dominators.is_reachable(id)),
        visit,
    );
}

pub(super) fn in_loop(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    flag(site.loops().0 > 0, visit);
}

pub(super) fn loop_depth(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    number(site.loops().0, visit);
}

pub(super) fn loop_header(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    if let Some(header) = site.loops().1 {
        number(header.as_u32(), visit);
    }
}

pub(super) fn source_file(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    for frame in site.function.source().frames(site.stmt) {
        if let Some(file) = frame.file {
            path(&file, visit);
        }
    }
}

pub(super) fn source_line(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    for frame in site.function.source().frames(site.stmt) {
        number(frame.line, visit);
    }
}

pub(super) fn source_column(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    for frame in site.function.source().frames(site.stmt) {
        number(frame.column, visit);
    }
}

pub(super) fn source_function(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    for frame in site.function.source().frames(site.stmt) {
        if let Some(function) = frame.function {
            spelled(site, &function, visit);
        }
    }
}

pub(super) fn inline_asm(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    flag(site.function.source().is_inline_asm(site.stmt), visit);
}

// Effects.

pub(super) fn control(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    flag(site.facts.flow() != Flow::Next, visit);
}

pub(super) fn flow(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    word(labels::flow(site.facts.flow()), visit);
}

pub(super) fn call(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    flag(site.facts.flow() == Flow::Call, visit);
}

pub(super) fn callee(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    let visit_names = |operands: &[Operand], visit: Visit<'_>| {
        for name in operands.iter().filter_map(|&operand| name(site, operand)) {
            spelled(site, &name, visit);
        }
    };
    match site.facts.callees() {
        Some(Callees::Function(symbol)) => visit_names(&[Operand::Symbol(symbol)], visit),
        Some(Callees::List(list)) => visit_names(list.operands, visit),
        _ => {}
    }
}

pub(super) fn barrier(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    flag(site.facts.is_barrier(), visit);
}

pub(super) fn fence(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    flag(site.facts.is_fence(), visit);
}

pub(super) fn side_effects(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    flag(site.facts.has_side_effects(), visit);
}

// Memory accesses.

pub(super) fn memory(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    flag(site.accesses().next().is_some(), visit);
}

pub(super) fn atomic(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    let is_atomic = |a: MemoryAccess| a.access == ptx_isa::Access::ReadModifyWrite;
    flag(site.accesses().any(is_atomic), visit);
}

pub(super) fn volatile(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    flag(site.facts.is_volatile(), visit);
}

pub(super) fn space(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    for access in site.accesses() {
        let names = [
            labels::space(access.space),
            labels::other_space(access.space),
        ];
        visit(Value::Names(names));
    }
}

pub(super) fn bytes(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    for bytes in site.accesses().filter_map(|access| access.bytes) {
        number(i64::try_from(bytes).unwrap_or(i64::MAX), visit);
    }
}

pub(super) fn access(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    for access in site.accesses() {
        word(labels::access(access.access), visit);
    }
}

fn modifier_or_none(modifier: Option<Modifier>, visit: Visit<'_>) {
    word(modifier.map_or("none", |m| m.text()), visit);
}

pub(super) fn order(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    for access in site.accesses() {
        modifier_or_none(access.order, visit);
    }
}

pub(super) fn scope(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    for access in site.accesses() {
        modifier_or_none(access.scope, visit);
    }
}

pub(super) fn base(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    for access in site.accesses() {
        match access.base {
            Some(Operand::Reg(register)) => {
                let place = ptx_ir::facts::RegisterComponent {
                    register,
                    component: None,
                };
                visit(Value::Text(site.function.register(place)));
            }
            Some(operand) => {
                if let Some(name) = name(site, operand) {
                    visit(Value::Text(&name));
                }
            }
            None => {}
        }
    }
}

pub(super) fn offset(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    for offset in site.accesses().filter_map(|access| access.offset) {
        number(offset, visit);
    }
}

// Requirements.

/// A number that orders targets: `sm_90`, `sm_90a`, `sm_100`, `sm_100f`, `sm_100a`.
pub(super) fn target_rank(target: Target) -> i64 {
    let arch = match target.arch() {
        Arch::Plain => 0,
        Arch::Family => 1,
        _ => 2,
    };
    i64::from(target.number()) * 4 + arch
}

/// A number that orders versions.
pub(super) fn version_rank(version: PtxVersion) -> i64 {
    i64::from(version.major) * 256 + i64::from(version.minor)
}

pub(super) fn requires_target(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    site.requirements(|target, _| number(target_rank(target), visit));
}

pub(super) fn requires_ptx(site: At<'_, '_, '_>, _: Operands, visit: Visit<'_>) {
    site.requirements(|_, version| number(version_rank(version), visit));
}
