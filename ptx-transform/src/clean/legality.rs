//! Whether an instruction would be legal with other words or operands: a question to the table.

use alloc::vec::Vec;

use ptx_ir::edit::Editor;
use ptx_ir::operand_shape::{BodyTypes, ShapeKey, Shapes, SymbolTypes};
use ptx_ir::{Module, Operand, SigId};
use ptx_isa::{Expected, FormMatch, InstQuery, Modifier, Opcode, PtxVersion, Target};

/// Judges instructions of one body after another.
pub(super) struct LegalityChecker {
    symbols: SymbolTypes,
    types: BodyTypes,
    key: ShapeKey,
    version: PtxVersion,
    target: Option<Target>,
}

/// The words of a mnemonic.
pub(super) struct Words {
    pub(super) opcode: Opcode,
    pub(super) modifiers: Vec<Modifier>,
}

impl Words {
    pub(super) fn of(module: &Module, sig: SigId) -> Option<Self> {
        let signature = module.signature(sig);
        Some(Self {
            opcode: signature.opcode().filter(|_| signature.is_known())?,
            modifiers: signature.modifiers().collect(),
        })
    }
}

impl LegalityChecker {
    pub(super) fn new(module: &Module) -> Self {
        let version = module.header().version.unwrap_or(PtxVersion::CURRENT);
        Self {
            symbols: SymbolTypes::new(module),
            types: BodyTypes::new(),
            key: ShapeKey::new(),
            version: version.min(PtxVersion::CURRENT),
            target: module.header().target,
        }
    }

    /// Begins a body.
    pub(super) fn enter(&mut self, editor: &Editor<'_>) {
        let (module, function) = (editor.module(), editor.function());
        self.types.fill(module, function, editor.body());
    }

    /// The declared type of a register.
    pub(super) fn register(&self, id: ptx_ir::RegId) -> Option<ptx_isa::ScalarType> {
        self.types.register(id)
    }

    /// What is asked of the form of an instruction, if that is legal without a remark.
    pub(super) fn ask<R>(
        &mut self,
        editor: &Editor<'_>,
        words: &Words,
        operands: &[Operand],
        answer: impl FnOnce(&FormMatch<'_>) -> R,
    ) -> Option<R> {
        let shapes = Shapes::new(editor.body(), &self.symbols, &self.types);
        if !shapes.write_operands(operands, true, &mut self.key) {
            return None;
        }
        let (version, target) = (self.version, self.target);
        self.key.read(|operands, in_entry| {
            let request = InstQuery {
                opcode: words.opcode,
                modifiers: &words.modifiers,
                operands,
                in_entry,
            };
            let selection = match target {
                Some(target) => request.select(version, target),
                None => request.select_anywhere(),
            };
            let selection = selection.ok().filter(|s| s.problems.is_empty())?;
            let deprecated =
                target.is_some_and(|t| selection.deprecations(version, t).next().is_some());
            let idle = selection.redundant().next().is_some();
            (!deprecated && !idle).then(|| answer(&selection))
        })
    }

    /// Whether an instruction is legal.
    pub(super) fn allows(&mut self, editor: &Editor<'_>, words: &Words, new: &[Operand]) -> bool {
        self.ask(editor, words, new, |_| ()).is_some()
    }
}

/// The type that an operand of the instruction, as written, has in its form.
pub(super) fn expected(selection: &FormMatch<'_>, index: usize) -> Option<Expected> {
    let operands = 0..selection.form.operands().len();
    let mut here = operands.filter(|&k| selection.operands.written(k) == Some(index));
    selection.expected(here.next()?)
}
