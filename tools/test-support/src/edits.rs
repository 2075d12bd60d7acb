//! Edits of each kind at random places, for tests with edited modules.

use ptx_edit::{EditError, EditModule as _, Editor, NewParam, ParamList, RemovedComments};
use ptx_ir::{FuncId, ItemId, LabelId, Linkage, Module, Operand, Statement, StmtId};
use ptx_isa::{Directive, PtxVersion, ScalarType, StateSpace, Target};
use ptx_transform::instrument::{Candidate, Timing, instrument_in_place};

use crate::corpus;
use crate::sample::sample;

/// An edit at a random place.
pub type Edit = fn(&mut Module, &mut fastrand::Rng) -> Result<(), EditError>;

/// Each kind of edit, by its name.
pub const EDITS: &[(&str, Edit)] = &[
    ("rename a symbol", |module, rng| {
        let symbols: Vec<_> = module.symbols().ids().collect();
        let symbol = one(&symbols, rng)?;
        module.editor().rename_symbol(symbol, "fresh_symbol")
    }),
    ("set a linkage", |module, rng| {
        let item = item(module, rng)?;
        let linkages = [None, Some(Linkage::Visible), Some(Linkage::Weak)];
        module.editor().set_linkage(item, one(&linkages, rng)?)
    }),
    ("set a directive", |module, rng| {
        let function = function(module, rng)?;
        let mut editor = module.editor();
        editor.set_directive(function, Directive::Maxntid, &[Operand::Small(96)])
    }),
    ("insert a variable", |module, rng| {
        let (item, space) = (item(module, rng)?, StateSpace::Global);
        let mut editor = module.editor();
        let new = editor.insert_variable(item, space, 0, ScalarType::B32, "fresh_variable", None);
        new.map(drop)
    }),
    ("remove an item", |module, rng| {
        let item = item(module, rng)?;
        module.editor().remove_item(item, RemovedComments::All)
    }),
    ("move an item", |module, rng| {
        let (item, other) = (item(module, rng)?, item(module, rng)?);
        module.editor().move_item(item, other)
    }),
    ("set the header", |module, _| {
        module.editor().set_version(PtxVersion::new(8, 8))?;
        module.editor().set_target(Target::Sm120a)
    }),
    ("insert a directive", |module, rng| {
        let item = item(module, rng)?;
        let mut editor = module.editor();
        let text = editor.string("nounroll")?;
        editor
            .insert_directive(item, Directive::Pragma, &[text])
            .map(drop)
    }),
    ("insert a parameter", |module, rng| {
        let function = function(module, rng)?;
        let new = NewParam::new(ScalarType::B32, "fresh_param");
        let no_argument = |_: &mut Editor<'_>, _| Err(EditError::NoStatement);
        let mut editor = module.editor();
        editor
            .insert_param(function, ParamList::Parameters, 0, &new, no_argument)
            .map(drop)
    }),
    ("set an element of an initializer", |module, rng| {
        let item = item(module, rng)?;
        module.editor().set_element(item, 0, 0, "0x7")
    }),
    ("insert an instruction", |module, rng| {
        let (function, stmt) = statement(module, rng)?;
        let mut editor = module.edit(function)?;
        let new = editor.inst("bar.sync", &[Operand::Small(0)])?;
        editor.insert_before(stmt, new).map(drop)
    }),
    ("insert a call", |module, rng| {
        let symbol = module.functions().values().find_map(|f| f.symbol);
        let symbol = symbol.ok_or(EditError::NoStatement)?;
        let (function, stmt) = statement(module, rng)?;
        let mut editor = module.edit(function)?;
        let new = editor.inst("call", &[Operand::Symbol(symbol)])?;
        editor.insert_after(stmt, new).map(drop)
    }),
    ("remove a statement", |module, rng| {
        let (function, stmt) = statement(module, rng)?;
        module.edit(function)?.remove(stmt)
    }),
    ("move a statement", |module, rng| {
        let (function, stmt) = statement(module, rng)?;
        let mut editor = module.edit(function)?;
        let statements: Vec<StmtId> = editor.body().statements().map(|(id, _)| id).collect();
        editor.move_before(stmt, one(&statements, rng)?)
    }),
    ("set an operand", |module, rng| {
        let (function, stmt) = statement(module, rng)?;
        let mut editor = module.edit(function)?;
        match editor.operand(stmt, 2) {
            Some(Operand::Reg(_) | Operand::Small(_) | Operand::Imm(_)) => {
                editor.set_operand(stmt, 2, Operand::Small(5))
            }
            _ => Err(EditError::NoStatement),
        }
    }),
    ("rename a label", |module, rng| {
        let function = function(module, rng)?;
        let mut editor = module.edit(function)?;
        let labels: Vec<LabelId> = editor.body().labels().ids().collect();
        editor.rename_label(one(&labels, rng)?, "fresh_label")
    }),
    ("rename a register", |module, rng| {
        let function = function(module, rng)?;
        let mut editor = module.edit(function)?;
        let registers: Vec<_> = editor.body().reg_decls().ids().collect();
        editor.rename_register(one(&registers, rng)?, "%fresh_")
    }),
    ("insert a scope and registers", |module, rng| {
        let (function, stmt) = statement(module, rng)?;
        let mut editor = module.edit(function)?;
        let [open, _] = editor.insert_scope_before(stmt)?;
        let (decl, new) = editor.registers(ScalarType::B32, "%x", Some(4))?;
        let placed = editor.insert_after(open, new)?;
        let register = Operand::Reg(editor.register(decl, 3)?);
        let new = editor.inst("mov.b32", &[register, Operand::Small(1)])?;
        editor.insert_after(placed, new).map(drop)
    }),
    ("instrument", |module, rng| {
        let function = function(module, rng)?;
        let select = |c: &Candidate<'_>| {
            (c.function == function && c.facts.memory().next().is_some()).then_some(Timing::Before)
        };
        let result = instrument_in_place(module, select, |probe| {
            let id = probe.id();
            let register = probe.register(ScalarType::B32)?;
            probe.emit("mov.b32", &[Operand::Reg(register), id])
        });
        result.map(drop).map_err(|_| EditError::NoStatement)
    }),
];

/// Makes an edit at the first of up to eight random places that allows it. Returns `false` if none does.
pub fn make(module: &mut Module, edit: Edit, rng: &mut fastrand::Rng) -> bool {
    (0..8).any(|_| {
        let old_revision = module.revision();
        edit(module, rng).is_ok() && module.revision() > old_revision
    })
}

/// Calls `check` with small files of the corpus after each kind of edit, one edit at a time, and with the names of the file and the edit. A file is not
/// edited in a way for which `is_tested` returns `false`; its parameters are the text of the file and the name of the edit.
pub fn check_edited_files(
    is_tested: impl Fn(&[u8], &str) -> bool,
    mut check: impl FnMut(&Module, &str),
) {
    const MOST_BYTES: usize = 20_000;
    const LEAST_CHECKED: usize = 50;
    let mut rng = fastrand::Rng::with_seed(36);
    let mut checked = 0;
    for file in sample(12, 4).of(corpus::entries(&corpus::own())) {
        let text = file.read();
        if text.len() > MOST_BYTES || ptx_parse::parse(&text).has_errors() {
            continue;
        }
        for (name, edit) in EDITS.iter().filter(|(name, _)| is_tested(&text, name)) {
            let mut module = ptx_parse::parse(&text).module;
            if make(&mut module, *edit, &mut rng) {
                checked += 1;
                check(&module, &format!("{}: {name}", file.name));
            }
        }
    }
    assert!(checked > LEAST_CHECKED, "{checked}");
}

fn one<T: Copy>(choices: &[T], rng: &mut fastrand::Rng) -> Result<T, EditError> {
    rng.choice(choices).copied().ok_or(EditError::NoStatement)
}

fn item(module: &Module, rng: &mut fastrand::Rng) -> Result<ItemId, EditError> {
    let items: Vec<ItemId> = module.items().map(|(id, _)| id).collect();
    one(&items, rng)
}

fn function(module: &Module, rng: &mut fastrand::Rng) -> Result<FuncId, EditError> {
    let functions: Vec<FuncId> = module.definitions().map(|(id, ..)| id).collect();
    one(&functions, rng)
}

/// A random instruction.
fn statement(module: &Module, rng: &mut fastrand::Rng) -> Result<(FuncId, StmtId), EditError> {
    let function = function(module, rng)?;
    let body = module.body(function).ok_or(EditError::NoBody)?;
    let instructions: Vec<StmtId> = body
        .statements()
        .filter(|(_, s)| matches!(s, Statement::Inst(_)))
        .map(|(id, _)| id)
        .collect();
    Ok((function, one(&instructions, rng)?))
}
