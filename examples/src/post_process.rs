//! Post-processing of the PTX of another compiler: calls before barriers, new names and limits of kernels, a library, a newer target.

use std::error::Error;

use ptxkit::build::InsertStatements as _;
use ptxkit::edit::EditModule as _;
use ptxkit::ir::facts::ModuleFacts;
use ptxkit::ir::{FunctionKind, Module, Operand, Severity, Statement};
use ptxkit::isa::{Action, Directive, PtxVersion, Target};
use ptxkit::transform::{LinkOptions, extract, insert_items, link, retarget};

/// The functions that the program calls.
pub const LIBRARY: &str = "\
.version 6.0
.target sm_50
.address_size 64
.visible .global .u64 barrier_count;
.func private_helper() { ret; }
.visible .func unused_in_library() { call private_helper; ret; }
.visible .func before_barrier()
{
    .reg .b64 %rd<2>;
    mov.u64 %rd0, barrier_count;
    red.global.add.u64 [%rd0], 1;
    ret;
}
";

/// Returns the new module and the number of calls in it.
pub fn post_process(text: &[u8], library: &Module) -> Result<(Module, usize), Box<dyn Error>> {
    let parsed = ptxkit::parse::parse(text).into_result()?;
    let mut module = insert_items(&parsed, ".extern .func before_barrier();")?.module;
    let callee = module.function("before_barrier").ok_or("it was inserted")?;

    let mut barriers = Vec::new();
    let mut kernels = Vec::new();
    let module_facts = ModuleFacts::new(&module);
    for (id, function, body) in module.definitions() {
        let facts = module_facts.function(id).ok_or("a body has facts")?;
        for (statement, kind) in body.statements() {
            if let Statement::Inst(inst) = kind
                && facts.inst(inst).action() == Some(Action::BarrierSync)
            {
                barriers.push((id, statement));
            }
        }
        if function.kind == FunctionKind::Entry {
            kernels.push((id, function.symbol.ok_or("a kernel has a symbol")?));
        }
    }
    for &(function, barrier) in &barriers {
        module.edit(function)?.build_before(barrier, |code| {
            let callee = code.function(callee)?;
            code.call_function(callee, &[], &[])
        })?;
    }
    let mut names = Vec::new();
    for (number, (kernel, symbol)) in kernels.into_iter().enumerate() {
        names.push(format!("kernel_{number}"));
        let directives = module.functions()[kernel].interface.directives;
        let has_exact_size = directives
            .of(module.interface_directives())
            .iter()
            .any(|directive| directive.directive == Directive::Reqntid);
        let mut editor = module.editor();
        editor.rename_symbol(symbol, &names[number])?;
        if !has_exact_size {
            editor.set_directive(kernel, Directive::Maxntid, &[Operand::Small(256)])?;
        }
    }
    let linked = link(&[&module, library], &LinkOptions::default())?.module;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let used = extract(&linked, &names)?.module;
    let version = used.header().version.max(Some(PtxVersion::new(8, 6)));
    let module = retarget(&used, Target::Sm90a, version.ok_or("no version")?)?.module;
    let diagnostics = ptxkit::verify::verify(&module, &Default::default());
    match diagnostics
        .into_iter()
        .find(|d| d.severity == Severity::Error)
    {
        Some(error) => Err(error.into()),
        None => Ok((module, barriers.len())),
    }
}
