//! The passes over the blocks of a function, in reverse post-order.
//!
//! The first pass evaluates all values; the phis of loop headers are symbols. The second pass evaluates the values again that depend on the induction
//! variables that the first one found. Two passes suffice, so no worklist is used: an induction variable has an affine form in the counter of its loop,
//! and other phis of loop headers stay symbols. The solver for SSA values in [`crate::dataflow`] computes joins of the arguments of phis, which are not
//! affine forms.

use alloc::vec::Vec;

use ptx_ir::facts::FunctionFacts;
use ptx_ir::{BudgetExhausted, Statement, VarId};
use ptx_isa::{ScalarType, SpecialReg};

use super::affine::{Affine, Need};
use super::alignment::Alignment;
use super::comparisons::Comparison;
use super::declared::Declared;
use super::entry::Entries;
use super::interval::{Interval, truncate};
use super::launch_bounds::LaunchBounds;
use super::loop_facts::{Induction, LoopFacts};
use super::number::{Abstract, Assigned, Number, Results, Source, Truth, is_integer, is_signed};
use super::symbol::{
    AffineSymbol, AffineSymbolId, Symbols, VariableRef, special_alignment, special_range,
};
use crate::cfg::{BlockId, Cfg};
use crate::graph::{Dominators, LoopId, Loops, ReversePostOrder};
use crate::meter::Meter;
use crate::reg_lanes::Variables;
use crate::ssa::{Ssa, Value, ValueId};

/// The results of the analyses that this one uses.
#[derive(Copy, Clone)]
pub(crate) struct Context<'a> {
    pub(crate) facts: FunctionFacts<'a>,
    pub(crate) cfg: &'a Cfg,
    pub(crate) variables: &'a Variables,
    pub(crate) dominators: &'a Dominators<BlockId>,
    pub(crate) loops: &'a Loops<BlockId>,
    pub(crate) order: &'a ReversePostOrder<BlockId>,
    pub(crate) ssa: &'a Ssa,
}

pub(super) struct Pass<'a> {
    pub(super) context: Context<'a>,
    pub(super) bounds: LaunchBounds,
    pub(super) declared: Declared<'a>,
    pub(super) symbols: Symbols,
    pub(super) entries: Entries,
    pub(super) comparisons: Vec<Comparison>,
    /// The facts about loops: none in the first pass.
    pub(super) loops: LoopFacts,
    /// The values that were evaluated in this pass.
    done: Vec<bool>,
    /// The values that depend on an induction variable, in the second pass: only these are evaluated again. `None` in the first pass.
    changed: Option<Vec<bool>>,
    /// Buffers of the evaluation of an instruction.
    pub(super) results: Results,
    pub(super) assigned: Vec<Assigned>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(context: Context<'a>) -> Self {
        let widths = context.ssa.values().map(|(id, _)| {
            let variable = context.ssa.variable(id);
            let class = variable.and_then(|v| context.variables.class(v));
            class.map_or(0, |c| c.bits())
        });
        Self {
            context,
            bounds: LaunchBounds::of(context.facts),
            declared: Declared::new(context.facts),
            symbols: Symbols::default(),
            entries: Entries::new(widths),
            comparisons: Vec::new(),
            loops: LoopFacts::default(),
            done: vec![false; context.ssa.len()],
            changed: None,
            results: Vec::new(),
            assigned: Vec::new(),
        }
    }

    /// Evaluates all values.
    ///
    /// # Errors
    ///
    /// The budget is exhausted.
    pub(super) fn run(&mut self, meter: &mut Meter<'_>) -> Result<(), BudgetExhausted> {
        let context = self.context;
        for (id, value) in context.ssa.values() {
            if matches!(value, Value::Entry { .. }) {
                self.finish(id);
            }
        }
        for &block in context.order.order() {
            for phi in context.ssa.phis(block) {
                meter.count(context.ssa.args(phi).len())?;
                self.phi(block, phi);
                self.finish(phi);
            }
            if let Some(b) = context.cfg.block(block) {
                for (stmt, statement) in context.facts.body().range(b.first, b.end) {
                    meter.count(1)?;
                    self.statement(stmt, statement);
                }
            }
        }
        Ok(())
    }

    /// Evaluates the values again that depend on the induction variables that are known now.
    ///
    /// # Errors
    ///
    /// The budget is exhausted.
    pub(super) fn run_again(&mut self, meter: &mut Meter<'_>) -> Result<(), BudgetExhausted> {
        if !self.loops.inductions.is_empty() {
            self.done.fill(false);
            self.changed = Some(vec![false; self.done.len()]);
            self.run(meter)?;
        }
        Ok(())
    }

    /// Returns whether a value with these inputs is evaluated in this pass.
    pub(super) fn is_needed(&self, mut inputs: impl Iterator<Item = ValueId>) -> bool {
        let Some(changed) = &self.changed else {
            return true;
        };
        inputs.any(|input| changed.get(input.as_u32() as usize) == Some(&true))
    }

    /// Begins the evaluation of a value of which nothing is known in this pass.
    pub(super) fn begin(&mut self, id: ValueId) {
        if let Some(changed) = &mut self.changed {
            if let Some(changed) = changed.get_mut(id.as_u32() as usize) {
                *changed = true;
            }
            self.entries.reset(id);
        }
    }

    pub(super) fn finish(&mut self, id: ValueId) {
        if let Some(done) = self.done.get_mut(id.as_u32() as usize) {
            *done = true;
        }
    }

    fn is_done(&self, id: ValueId) -> bool {
        self.done.get(id.as_u32() as usize) == Some(&true)
    }

    /// The facts about a value that was evaluated.
    pub(super) fn abstracted(&self, id: ValueId) -> Abstract {
        match self.entries.width(id) {
            1 => Abstract::Truth(self.truth(id)),
            0 => Abstract::Unknown,
            _ => Abstract::Number(self.entries.number(id)),
        }
    }

    pub(super) fn set(&mut self, id: ValueId, found: Abstract) {
        match (found, self.entries.width(id)) {
            (Abstract::Truth(truth), 1) => self.entries.set_truth(id, truth),
            (Abstract::Number(mut number), 8..=64) => {
                if let Some(form) = &number.form {
                    number.low = number.low.better(self.form_alignment(form));
                }
                self.entries.set_number(id, &number);
            }
            _ => {}
        }
    }

    fn phi(&mut self, block: BlockId, phi: ValueId) {
        let context = self.context;
        let args = context
            .ssa
            .args(phi)
            .iter()
            .copied()
            .filter(|arg| *arg != Ssa::UNKNOWN);
        let induction = self.loops.inductions.get(&phi).copied();
        if induction.is_none() && !self.is_needed(args.clone()) {
            return;
        }
        self.begin(phi);
        let mut joined: Option<Abstract> = None;
        let mut all_done = true;
        for arg in args {
            if !self.is_done(arg) {
                all_done = false;
                continue;
            }
            let arg = self.abstracted(arg);
            joined = Some(joined.map_or(arg, |joined| joined.join(arg)));
        }
        let Some(joined) = joined else { return };
        if all_done {
            self.set(phi, joined);
            return;
        }
        let (Abstract::Number(start), Some(induction)) = (joined, induction) else {
            return;
        };
        let Some(id) = context.loops.innermost(block) else {
            return;
        };
        let number = self.repeated(id, &start, &induction, self.entries.width(phi));
        self.set(phi, Abstract::Number(number));
    }

    /// A value that begins with `start` and changes by a step in each iteration of a loop.
    fn repeated(&mut self, id: LoopId, start: &Number, induction: &Induction, bits: u16) -> Number {
        let need = Need::Low(bits);
        let counter = Affine::symbol(self.symbols.id(AffineSymbol::Counter(id)));
        let step = induction.step;
        let change = step.and_then(|step| self.product(&step, &counter, need));
        let form = start.form.and_then(|s| s.add(&change?, need));
        let step_range = step.map_or(Interval::ALL, |s| self.form_range(&s));
        let last = self.loops.last_iteration(id);
        let range = match last {
            Some(last) => {
                let change = step_range.mul(Interval::new(0, last.into()));
                start.range.add(change)
            }
            None => Interval::ALL,
        };
        let bits = induction.step_zeros.min(start.low.bits.into());
        let low = Alignment::new(bits, start.low.residue);
        Number { form, range, low }
    }

    pub(super) fn truth(&self, id: ValueId) -> Truth {
        self.entries.get(id).map_or(Truth::Unknown, |e| e.truth)
    }

    pub(super) fn keep_comparison(&mut self, comparison: Comparison) -> Truth {
        self.comparisons.push(comparison.with_constant_last());
        Truth::Compare(self.comparisons.len() as u32 - 1, false)
    }

    /// The facts about a source of an instruction that reads it with a type.
    pub(super) fn read(
        &mut self,
        source: Source,
        ty: Option<ScalarType>,
        need: Need,
    ) -> Option<Number> {
        if ty.is_some_and(|ty| !is_integer(ty)) {
            return None;
        }
        let bits = ty.map_or(64, ScalarType::bits);
        let signed = ty.is_some_and(is_signed);
        match source {
            Source::Value(value, false) => self.read_value(value, ty, need),
            Source::Constant(value) => {
                let kept = truncate(value, bits, signed);
                Some(Number::new(
                    None,
                    Interval::only(kept),
                    Alignment::UNKNOWN,
                    need,
                ))
            }
            Source::Special(register, component) => {
                let number = self.special(register, component);
                Some(number)
            }
            Source::Address(variable, offset) => {
                let symbol = self.symbols.id(AffineSymbol::Variable(variable));
                let form = Affine::symbol(symbol).add(&Affine::number(offset), need)?;
                let low = self.form_alignment(&form);
                let range = Interval::of_bits(bits, false);
                let form = Some(form).filter(|_| need != Need::Exact);
                Some(Number::new(form, range, low, need))
            }
            _ => None,
        }
    }

    fn special(&mut self, register: SpecialReg, component: u8) -> Number {
        let range = special_range(register, component, &self.bounds);
        let low = special_alignment(register, component);
        let range = match (register, self.bounds.threads) {
            (SpecialReg::Ntid, Some(threads)) => {
                let only = threads.get(usize::from(component)).copied().unwrap_or(0);
                Interval::only(only.into())
            }
            _ => range,
        };
        let form = (!register.is_volatile()).then(|| {
            let symbol = AffineSymbol::Special(register, component);
            Affine::symbol(self.symbols.id(symbol))
        });
        Number::new(form, range, low, Need::Exact)
    }

    fn read_value(&mut self, id: ValueId, ty: Option<ScalarType>, need: Need) -> Option<Number> {
        let width = self.entries.width(id);
        let bits = ty.map_or(width, ScalarType::bits);
        if !(8..=64).contains(&width) || bits > width {
            return None;
        }
        let signed = ty.is_some_and(is_signed);
        let range = self.entries.range(id, bits, signed);
        let stored = self.entries.form(id).modulo(bits);
        let entry = self.entries.get(id)?;
        let low = entry.low.truncated(bits.into());
        let enough = matches!(need, Need::Low(needed) if needed <= bits);
        let form = if enough || self.is_exact(&stored, range, bits) {
            Some(stored)
        } else if bits == width {
            Some(Affine::symbol(Symbols::value(id, signed)))
        } else {
            None
        };
        Some(Number::new(form, range, low, need))
    }

    /// Whether an integer is its form, if that is known modulo a power of two: neither may differ by so much.
    pub(super) fn is_exact(&self, form: &Affine, range: Interval, bits: u16) -> bool {
        let all = self.form_range(form).join(range);
        let size = all.max.checked_sub(all.min);
        size.is_some_and(|size| size < 1 << bits)
    }

    /// The integers that a form may be.
    pub(super) fn form_range(&self, form: &Affine) -> Interval {
        let start = Interval::only(form.constant().into());
        form.terms().iter().fold(start, |sum, term| {
            let values = self.symbol_range(term.symbol);
            sum.add(values.mul(Interval::only(term.factor.into())))
        })
    }

    fn symbol_range(&self, id: AffineSymbolId) -> Interval {
        let any = Interval::of_bits(64, false);
        match self.symbols.get(id) {
            Some(AffineSymbol::Special(register, component)) => {
                special_range(register, component, &self.bounds)
            }
            Some(AffineSymbol::Parameter { bytes, .. }) => {
                Interval::of_bits(8 * u16::from(bytes), false)
            }
            Some(AffineSymbol::Value { value, signed }) => {
                self.entries.range(value, self.entries.width(value), signed)
            }
            Some(AffineSymbol::Counter(id)) => match self.loops.last_iteration(id) {
                Some(last) => Interval::new(0, last.into()),
                None => any,
            },
            Some(AffineSymbol::Product(a, b)) => self.symbol_range(a).mul(self.symbol_range(b)),
            Some(AffineSymbol::Variable(_) | AffineSymbol::Window(_)) => any,
            None => Interval::ALL,
        }
    }

    /// The known low bits of a form.
    pub(super) fn form_alignment(&self, form: &Affine) -> Alignment {
        form.alignment(|symbol| self.symbol_alignment(symbol))
    }

    fn symbol_alignment(&self, id: AffineSymbolId) -> Alignment {
        match self.symbols.get(id) {
            Some(AffineSymbol::Special(register, component)) => {
                special_alignment(register, component)
            }
            Some(AffineSymbol::Parameter {
                variable,
                offset: 0,
                bytes: 8,
            }) => self.pointer_alignment(variable),
            Some(AffineSymbol::Variable(variable)) => {
                Alignment::multiple_of(self.declared.alignment(variable))
            }
            // Accesses through generic addresses are as aligned as those to the variables.
            Some(AffineSymbol::Window(_)) => Alignment::multiple_of(super::declared::WINDOW),
            Some(AffineSymbol::Value { value, .. }) => self
                .entries
                .get(value)
                .map_or(Alignment::UNKNOWN, |e| e.low),
            Some(AffineSymbol::Product(a, b)) => {
                self.symbol_alignment(a).mul(self.symbol_alignment(b))
            }
            _ => Alignment::UNKNOWN,
        }
    }

    fn pointer_alignment(&self, variable: VarId) -> Alignment {
        Alignment::multiple_of(self.declared.pointer_alignment(variable))
    }

    /// The product of two forms, if it has few terms.
    pub(super) fn product(&mut self, x: &Affine, y: &Affine, need: Need) -> Option<Affine> {
        if let Some(number) = y.as_number() {
            return x.times(number, need);
        }
        if let Some(number) = x.as_number() {
            return y.times(number, need);
        }
        let mut sum = x.times(y.constant(), need)?;
        for right in y.terms() {
            let mut row = Affine::symbol(right.symbol).times(x.constant(), need)?;
            for left in x.terms() {
                let symbol = self.symbols.product(left.symbol, right.symbol)?;
                let product = Affine::symbol(symbol).times(left.factor, need)?;
                row = row.add(&product, need)?;
            }
            sum = sum.add(&row.times(right.factor, need)?, need)?;
        }
        Some(sum)
    }

    /// Adds the addresses of the variables that instructions access.
    pub(super) fn add_addresses(&mut self) {
        for (_, statement) in self.context.facts.body().statements() {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            for access in self.context.facts.inst(inst).memory() {
                if let Some(variable) = access.base.and_then(VariableRef::of) {
                    self.symbols.id(AffineSymbol::Variable(variable));
                }
            }
        }
    }

    /// The known low bits of the symbols that are not values.
    pub(super) fn symbol_alignments(&self) -> Vec<Alignment> {
        let ids = self.symbols.ids();
        ids.map(|id| self.symbol_alignment(id)).collect()
    }
}
