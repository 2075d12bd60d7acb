//! The facts of every instruction of a module, in one pass.

use alloc::vec::Vec;
use ptx_isa::{InstQuery, Modifier, Opcode};

use super::control::branch_targets;
use super::{Facts, FormFacts, Mentions};
use crate::operand_shape::{BodyTypes, ShapeCache, ShapeKey, Shapes, SymbolTypes};
use crate::{
    Binding, Body, EntityId, FuncId, InstId, LabelId, Module, OpaqueId, Operand, RegDeclId, RegId,
    SigId,
};

/// What is known of a mnemonic before any operand is seen.
#[derive(Copy, Clone, Default)]
struct Mnemonic {
    /// `None` where a word is unknown.
    opcode: Option<Opcode>,
    /// Whether the values of constants decide.
    values: bool,
    /// The shape of operands that came last, and its facts.
    last: Option<(u128, u32)>,
}

/// The number of [`FormFacts::UNKNOWN`].
const UNKNOWN: u32 = 0;

/// What every instruction of a module does.
#[derive(Clone, Debug)]
pub struct ModuleFacts<'m> {
    module: &'m Module,
    forms: Vec<FormFacts>,
    /// The facts of each instruction of each body.
    bodies: Vec<Vec<u32>>,
}

impl<'m> ModuleFacts<'m> {
    /// Looks at every instruction once.
    pub fn new(module: &'m Module) -> Self {
        Self::of(module, |_| true)
    }

    /// Looks at the instructions of some functions; of all others nothing is known.
    pub fn of(module: &'m Module, wanted: impl Fn(FuncId) -> bool) -> Self {
        let mut pass = Pass {
            module,
            mnemonics: module
                .signatures
                .ids()
                .map(|id| mnemonic(module, id))
                .collect(),
            numbers: ShapeCache::new(),
            key: ShapeKey::new(),
            forms: alloc::vec![FormFacts::UNKNOWN],
        };
        let symbols = SymbolTypes::new(module);
        let mut types = BodyTypes::new();
        let mut bodies = Vec::new();
        bodies.resize_with(module.bodies.len(), Vec::new);
        for (id, function, body) in module.definitions().filter(|(id, ..)| wanted(*id)) {
            types.fill(module, id, body);
            let shapes = Shapes::new(body, &symbols, &types);
            let numbers = body.insts.iter();
            let numbers = numbers.map(|(id, inst)| pass.number(id, inst.sig, &shapes));
            if let Some(entry) = function.body.and_then(|b| bodies.get_mut(b.index())) {
                *entry = numbers.collect();
            }
        }
        Self {
            module,
            forms: pass.forms,
            bodies,
        }
    }

    /// The module.
    pub fn module(&self) -> &'m Module {
        self.module
    }

    /// The facts of a function that has a body.
    pub fn function(&self, id: FuncId) -> Option<FunctionFacts<'_>> {
        let body = self.module.functions.get(id)?.body?;
        Some(FunctionFacts {
            module: self.module,
            id,
            body: self.module.bodies.get(body)?,
            forms: &self.forms,
            numbers: self.bodies.get(body.index())?,
        })
    }
}

/// What the instructions of one function do.
#[derive(Copy, Clone, Debug)]
pub struct FunctionFacts<'a> {
    module: &'a Module,
    id: FuncId,
    body: &'a Body,
    forms: &'a [FormFacts],
    numbers: &'a [u32],
}

impl<'a> FunctionFacts<'a> {
    /// The module.
    pub fn module(&self) -> &'a Module {
        self.module
    }

    /// The body.
    pub fn body(&self) -> &'a Body {
        self.body
    }

    /// The registers that hold the results when the function returns, of those the body mentions: `r` of
    /// `.func (.reg .b32 r) f()`. The caller reads them; no instruction says so.
    pub fn results(&self) -> impl Iterator<Item = RegId> + use<'a> {
        let function = self.module.functions.get(self.id);
        let returns = function.map(|f| f.interface.returns).unwrap_or_default();
        let declared = returns.of(&self.module.params).iter();
        let declared = declared.filter_map(|p| match p.binding {
            Binding::Register(decl) => Some(decl),
            _ => None,
        });
        let declared: Vec<RegDeclId> = declared.collect();
        let registers = match declared.is_empty() {
            true => None,
            false => Some(self.body.registers.iter()),
        };
        let registers = registers.into_iter().flatten();
        registers
            .filter(move |(_, r)| declared.contains(&r.decl))
            .map(|(id, _)| id)
    }

    /// What an instruction does.
    #[inline]
    pub fn inst(&self, id: InstId) -> Facts<'a> {
        const NOTHING: &FormFacts = &FormFacts::UNKNOWN;
        let number = self.numbers.get(id.index()).copied().unwrap_or(UNKNOWN);
        Facts {
            module: self.module,
            body: self.body,
            id,
            form: self.forms.get(number as usize).unwrap_or(NOTHING),
        }
    }

    /// The labels in the table that a label names; `None` where it names none.
    pub fn table(&self, label: LabelId) -> Option<&'a [Operand]> {
        branch_targets(self.body, label)
    }

    /// The registers a statement mentions that was not understood: each may be read and written.
    pub fn opaque(&self, id: OpaqueId) -> Mentions<'a> {
        let opaque = self.body.opaques.get(id);
        Mentions::opaque(
            self.body,
            opaque.map_or(&[][..], |o| self.body.pool.slice(o.mentions)),
        )
    }
}

fn mnemonic(module: &Module, id: SigId) -> Mnemonic {
    let signature = module.signature(id);
    let forms = signature.instruction().map_or(&[][..], |i| i.forms());
    let mut operands = forms.iter().flat_map(|f| f.operands());
    Mnemonic {
        opcode: signature.opcode().filter(|_| signature.is_known()),
        values: operands.any(|o| o.range.is_some()),
        last: None,
    }
}

struct Pass<'m> {
    module: &'m Module,
    mnemonics: Vec<Mnemonic>,
    numbers: ShapeCache<u32>,
    key: ShapeKey,
    forms: Vec<FormFacts>,
}

impl Pass<'_> {
    /// The number of an instruction's facts.
    #[inline]
    fn number(&mut self, id: InstId, sig: SigId, shapes: &Shapes<'_>) -> u32 {
        let index = sig.as_u32() as usize;
        let Some(mnemonic) = self.mnemonics.get(index).copied() else {
            return UNKNOWN;
        };
        let Some(opcode) = mnemonic.opcode else {
            return UNKNOWN;
        };
        if !shapes.write(id, mnemonic.values, &mut self.key) {
            return UNKNOWN;
        }
        let short = self.key.short();
        if let (Some(short), Some((last, number))) = (short, mnemonic.last)
            && short == last
        {
            return number;
        }
        let known = self.numbers.get(sig, &self.key);
        let number = known.unwrap_or_else(|| self.ask(opcode, sig));
        if let Some(mnemonic) = self.mnemonics.get_mut(index) {
            mnemonic.last = short.map(|short| (short, number));
        }
        number
    }

    /// Asks the table.
    #[cold]
    fn ask(&mut self, opcode: Opcode, sig: SigId) -> u32 {
        let modifiers: Vec<Modifier> = self.module.signature(sig).modifiers().collect();
        let facts = self.key.read(|operands, in_entry| {
            let request = InstQuery {
                opcode,
                modifiers: &modifiers,
                operands,
                in_entry,
            };
            let selected = request.select_anywhere().ok();
            selected
                .filter(|s| s.problems.is_empty())
                .map(|s| FormFacts::new(&s))
        });
        let number = match facts {
            Some(facts) => {
                self.forms.push(facts);
                self.forms.len() as u32 - 1
            }
            None => UNKNOWN,
        };
        self.numbers.insert(sig, &self.key, number);
        number
    }
}
