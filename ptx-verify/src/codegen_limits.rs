//! What NVIDIA's assembler takes when it checks a module, and refuses when it makes code of it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;
use ptx_ir::{
    Body, Code, Diagnostic, FuncId, Function, FunctionKind, Item, Module, Operand, OperandPool,
    Param, SigId, Span, Statement, SymbolId, SymbolKind,
};
use ptx_isa::{Directive, Modifier, RuleKind, ScalarType, Target};

use crate::stmt_tokens::Statement as Words;
use crate::{memory, unresolved};

/// Warns of what is legal PTX, as far as one can tell from the text, and yet makes no code: more memory than there is,
/// functions that nothing defines, instructions that do not go together in one function, values that cannot be passed.
/// [`Code::UnresolvedExtern`] is only a mistake where the module is not linked to others.
///
/// ```
/// let text = b".version 8.0 .target sm_80 .address_size 64 .const .b8 c[70000];";
/// let found = ptx_verify::generation(&ptx_parse::parse(text).module);
/// assert_eq!(found[0].code.to_string(), "PTX0804");
/// ```
pub fn generation(module: &Module) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let uses = uses(module);
    addresses(module, &mut found);
    unresolved::functions(module, &uses, &mut found);
    unresolved::variables(module, &mut found);
    parameters(module, &uses, &mut found);
    mixed(module, &mut found);
    memory::constants(module, &mut found);
    memory::shared(module, &uses, &mut found);
    found.sort_by_key(|d| d.span.start);
    found
}

/// The names of the module that the bodies use.
pub(crate) type Uses = BTreeMap<FuncId, BTreeSet<SymbolId>>;

fn uses(module: &Module) -> Uses {
    let of = |body: &Body| each_symbol(body.pool()).collect();
    module
        .definitions()
        .map(|(id, _, body)| (id, of(body)))
        .collect()
}

fn each_symbol(pool: &OperandPool) -> impl Iterator<Item = SymbolId> {
    let addresses = pool.addresses().iter().flat_map(|a| [a.base, a.offset]);
    let all = pool.operands().iter().copied().chain(addresses);
    all.filter_map(|operand| match operand {
        Operand::Symbol(id) => Some(id),
        _ => None,
    })
}

/// The item of a function, to point at its name.
pub(crate) fn at_name(module: &Module, function: &Function) -> Span {
    let own = |item: Item| match item {
        Item::Function(id) => module.functions().get(id).is_some_and(|f| f == function),
        _ => false,
    };
    let item = module.items().find(|(_, i)| own(*i));
    item.map_or_else(Span::default, |(id, _)| {
        Words::new(module, module.span(id), true).find(module.name(function.name))
    })
}

/// `.address_size 32` is gone since `sm_90`.
fn addresses(module: &Module, found: &mut Vec<Diagnostic>) {
    let new = module
        .header()
        .target
        .is_some_and(|t| t.implies(Target::Sm90));
    if module.header().address_size != Some(32) || !new {
        return;
    }
    let directive = |item: Item| match item {
        Item::Directive(id) => module
            .directives()
            .get(id)
            .is_some_and(|d| d.directive == Directive::AddressSize),
        _ => false,
    };
    if let Some((id, _)) = module.items().find(|(_, i)| directive(*i)) {
        let at = Words::new(module, module.span(id), true).find("32");
        let message = "no code with addresses of 32 bits is made for `sm_90` and newer targets";
        found.push(Diagnostic::warning(Code::SmallAddresses, at, message).with_help("write `64`"));
    }
}

/// Values that the calling convention does not pass: predicates, and integers of 8 and 16 bits.
fn parameters(module: &Module, uses: &Uses, found: &mut Vec<Diagnostic>) {
    // Several results of one function switch the convention off.
    let off = |f: &Function| f.interface.returns.len > 1;
    if module.functions().values().any(off) {
        return;
    }
    let small = |p: &&Param| {
        p.dims.is_empty()
            && p.vector <= 1
            && p.ty.known().is_some_and(|ty| {
                ty == ScalarType::Pred || ty.is_integer() && ty.bits() < 32 && ty.lanes() == 1
            })
    };
    let called: BTreeSet<SymbolId> = uses.values().flatten().copied().collect();
    for symbol in called {
        let Some(SymbolKind::Function(id)) = module.symbols().get(symbol).map(|s| s.kind) else {
            continue;
        };
        let Some(function) = module.functions().get(id) else {
            continue;
        };
        if function.kind == FunctionKind::Entry {
            continue;
        }
        let (params, returns) = (function.interface.params, function.interface.returns);
        let results = returns.of(module.params()).iter();
        if let Some(param) = results.chain(params.of(module.params())).find(small) {
            let ty = param.ty.known().map_or("", ScalarType::text);
            let name = module.name(function.name);
            let message = format!("`{name}` cannot be called with a value of type `{ty}`");
            let wide = if ty == ".pred" { ".b32" } else { ".b16" };
            found.push(
                Diagnostic::warning(Code::SmallParameter, at_name(module, function), message)
                    .with_help(format!("pass it as `{wide}`")),
            );
        }
    }
}

/// Instructions of a function that have to agree in a modifier.
fn mixed(module: &Module, found: &mut Vec<Diagnostic>) {
    let words: Vec<Option<Modifier>> = module
        .signatures()
        .ids()
        .map(|s| agreed(module, s))
        .collect();
    if words.iter().all(Option::is_none) {
        return;
    }
    for (_, function, body) in module.definitions() {
        let mut first: Option<(Modifier, Span)> = None;
        for (stmt, statement) in body.statements() {
            let Statement::Inst(id) = statement else {
                continue;
            };
            let Some(inst) = body.inst(id) else {
                continue;
            };
            let index = inst.sig.as_u32() as usize;
            let Some(word) = words.get(index).copied().flatten() else {
                continue;
            };
            let at = || Words::new(module, body.source_span(stmt), true).find(word.text());
            match first {
                None => first = Some((word, at())),
                Some((other, before)) if other != word => {
                    let name = module.name(function.name);
                    let message =
                        format!("`{name}` has instructions with `{other}` and with `{word}`");
                    found.push(
                        Diagnostic::warning(Code::MixedModifiers, at(), message)
                            .with_label(before, format!("`{other}` here"))
                            .with_help(format!("write `{other}` here, or `{word}` everywhere")),
                    );
                    break;
                }
                Some(_) => {}
            }
        }
    }
}

/// The word of a mnemonic in which all instructions of a function have to agree.
fn agreed(module: &Module, id: SigId) -> Option<Modifier> {
    let signature = module.signature(id);
    let forms = signature.instruction()?.forms();
    let slots = forms.iter().flat_map(|f| {
        let of_rule = |r: &ptx_isa::Rule| match r.kind {
            RuleKind::MustAgree(slot, _) => f.slot(slot.into()),
            _ => None,
        };
        f.rules().iter().filter_map(of_rule)
    });
    let mut words = slots.map(ptx_isa::Slot::words);
    words.find_map(|words| signature.modifiers().find(|m| words.contains(*m)))
}
