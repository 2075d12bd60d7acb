//! Preheaders: blocks that control passes through once before a loop.

use alloc::vec::Vec;

use ptx_analysis::cfg::{BlockId, Cfg, EdgeKind};
use ptx_analysis::graph::{LoopId, Loops};
use ptx_edit::{EditError, EditModule as _};
use ptx_ir::raw::EntitySet;
use ptx_ir::{FuncId, LabelId, Module, Operand, Statement, StmtId};

/// Inserts a preheader: a block before the header of a loop that all edges into the loop lead to, except those from inside of
/// it. Returns the label of the new block, which is empty: a statement inserted after the label is executed once before the
/// loop. The time is linear in the statements of the function.
///
/// `cfg` and `loops` are those of the function as it is; both are outdated afterwards.
///
/// ```
/// use ptx_analysis::cfg::Cfg;
/// use ptx_analysis::graph::{Dominators, Loops};
/// use ptx_edit::EditModule as _;
/// use ptx_ir::facts::ModuleFacts;
/// let text = ".version 8.0\n.target sm_80\n.entry k()\n{\n\t.reg .pred p;\n\t@p bra L;\n\ttrap;\nL:\n\t@p bra L;\n\tret;\n}\n";
/// let mut module = ptx_parse::parse_str(text).module;
/// let k = module.function("k").ok_or("no kernel")?;
/// let facts = ModuleFacts::new(&module);
/// let cfg = Cfg::new(facts.function(k).ok_or("no body")?);
/// let loops = Loops::new(&cfg, &Dominators::new(&cfg));
/// let (id, _) = loops.iter().next().ok_or("no loop")?;
/// let label = ptx_transform::insert_preheader(&mut module, k, &cfg, &loops, id, "PRE")?;
/// module.edit(k)?.insert_text_after(label, ".reg .b32 x; mov.b32 x, 1;")?;
/// let now = String::from_utf8(ptx_print::verbatim(&module))?;
/// assert!(now.ends_with("\t@p bra PRE;\n\ttrap;\nPRE:\n\t.reg .b32 x;\n\tmov.b32 x, 1;\nL:\n\t@p bra L;\n\tret;\n}\n"), "{now}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`EditError::Missing`] if the loop has no header with a label that jumps lead to, or control falls into the header from
/// inside of the loop, or enters it through a table or another label; and those of [`Editor::label`](ptx_edit::Editor::label). Nothing has
/// changed then.
pub fn insert_preheader(
    module: &mut Module,
    function: FuncId,
    cfg: &Cfg,
    loops: &Loops<BlockId>,
    id: LoopId,
    name: &str,
) -> Result<StmtId, EditError> {
    let missing = || EditError::Missing("place for a preheader of this loop");
    let header = loops.get(id).ok_or_else(missing)?.header();
    let block = *cfg.block(header).ok_or_else(missing)?;
    let old = block.label.ok_or_else(missing)?;
    // The last statements of the blocks from which jumps have to lead to the preheader.
    let mut jumps: EntitySet<StmtId> = EntitySet::new();
    let mut editor = module.edit(function)?;
    for (_, edge) in cfg.in_edges(header) {
        match (edge.kind, loops.contains(id, edge.from)) {
            (EdgeKind::Next, false) | (EdgeKind::Jump, true) => {}
            (EdgeKind::Jump, false) => {
                let predecessor = cfg.block(edge.from).ok_or_else(missing)?;
                let body = editor.body();
                let last = body.range(predecessor.first, predecessor.end).next_back();
                jumps.insert(last.ok_or_else(missing)?.0);
            }
            _ => return Err(missing()),
        }
    }
    let uses = jump_operands(&editor, &jumps, old);
    if uses.len() != jumps.iter().count() {
        return Err(missing());
    }
    // Declarations at the start of the function stay before it.
    let (header_label, _) = editor
        .body()
        .range(block.first, block.end)
        .find(|(_, statement)| matches!(statement, Statement::Label(_)))
        .ok_or_else(missing)?;
    let (label, draft) = editor.label(name)?;
    let preheader = editor.insert_before(header_label, draft)?;
    for (stmt, index) in uses {
        editor.set_operand(stmt, index, Operand::Label(label))?;
    }
    Ok(preheader)
}

/// The operands of `jumps` that are `label`: the statement and the index of the operand.
fn jump_operands(
    editor: &ptx_edit::Editor<'_>,
    jumps: &EntitySet<StmtId>,
    label: LabelId,
) -> Vec<(StmtId, usize)> {
    let mut uses = Vec::new();
    for stmt in jumps.iter() {
        let operands = (0..).map_while(|index| Some((index, editor.operand(stmt, index)?)));
        for (index, operand) in operands {
            if operand == Operand::Label(label) {
                uses.push((stmt, index));
            }
        }
    }
    uses
}
