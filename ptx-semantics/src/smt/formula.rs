//! The results of instructions of a function as terms.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use ptx_ir::facts::{Facts, FunctionFacts, RegLane};
use ptx_ir::{Body, InstId, Operand, Statement, StmtId};
use ptx_isa::{Destination, Modifier, RegisterClass, ScalarType};

use super::NotExpressible;
use super::definition::{Sort, sources};
use super::script::{Input, Script, SortedTerm, source_count, source_sort};
use crate::fold::computation::Inputs;
use crate::operands::{Extension, Place, SourceOperand, visit_sources, written_place};

/// The places that instructions write, as terms over the places that they read.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Formula {
    /// The terms, to which more can be added.
    pub script: Script,
    /// The instructions without a term, in their order. What they do besides writing registers, such as storing or branching, is not part
    /// of the formula, and the values that they write are inputs.
    pub opaque: Vec<InstId>,
    results: Vec<Place>,
    state: BTreeMap<Place, SortedTerm>,
}

/// The results of an instruction as terms: one for each place that it writes. Under a guard, a place keeps its value where the guard is false.
///
/// ```
/// use ptx_ir::facts::ModuleFacts;
/// let source = b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a, b; .reg .pred p; @!p add.s32 b, a, -3; ret; }";
/// let module = ptx_parse::parse(source).module;
/// let facts = ModuleFacts::new(&module);
/// let function = facts.function(module.function("k").unwrap()).unwrap();
/// let (add, _) = function.body().insts().next().unwrap();
/// let formula = ptx_semantics::smt(&function.inst(add))?;
/// let (_, sum) = formula.results().next().unwrap();
/// assert_eq!(formula.script.text(sum), "(ite (not x1) (bvadd x0 #xfffffffd) x2)");
/// # Ok::<(), ptx_semantics::smt::NotExpressible>(())
/// ```
///
/// # Errors
///
/// The instruction does something else than computing registers from registers, or what it computes is not expressible.
pub fn smt(facts: &Facts<'_>) -> Result<Formula, NotExpressible> {
    let mut formula = Formula::default();
    formula.add(facts)?;
    Ok(formula)
}

/// The results of instructions that are executed one after the other, as terms over the state before the first one.
///
/// # Errors
///
/// As for [`smt`], for one of the instructions.
pub fn smt_window(
    function: FunctionFacts<'_>,
    instructions: &[InstId],
) -> Result<Formula, NotExpressible> {
    let mut formula = Formula::default();
    for &id in instructions {
        formula.add(&function.inst(id))?;
    }
    Ok(formula)
}

/// The results of the statements of a basic block from `first` up to, not including, `end`. The results of instructions without a term,
/// such as loads, are inputs, and [`Formula::opaque`] lists these instructions.
#[must_use]
pub fn smt_block(function: FunctionFacts<'_>, first: StmtId, end: StmtId) -> Formula {
    let mut formula = Formula::default();
    for (_, statement) in function.body().range(first, end) {
        if let Statement::Inst(id) = statement {
            let facts = function.inst(id);
            if formula.add(&facts).is_err() {
                formula.forget(&facts);
            }
        }
    }
    formula
}

impl Formula {
    /// The written places, in the order in which they are first written, with their terms after the last instruction.
    #[must_use]
    pub fn results(&self) -> impl DoubleEndedIterator<Item = (Place, SortedTerm)> {
        self.results
            .iter()
            .filter_map(|place| Some((*place, *self.state.get(place)?)))
    }

    /// The term of a place after the last instruction; `None` if no instruction writes the place.
    #[must_use]
    pub fn result(&self, place: Place) -> Option<SortedTerm> {
        self.results
            .contains(&place)
            .then(|| self.state.get(&place).copied())?
    }

    /// Executes an instruction. Where it has no term, nothing changes.
    fn add(&mut self, facts: &Facts<'_>) -> Result<(), NotExpressible> {
        let written = self.written(facts)?;
        for (place, term) in written {
            self.write(place, term);
        }
        Ok(())
    }

    fn write(&mut self, place: Place, term: SortedTerm) {
        self.state.insert(place, term);
        if !self.results.contains(&place) {
            self.results.push(place);
        }
    }

    /// Makes the places that an instruction may write inputs.
    fn forget(&mut self, facts: &Facts<'_>) {
        self.opaque.push(facts.id());
        let body = facts.body();
        let written = facts
            .registers()
            .filter(|register| register.usage != ptx_ir::facts::RegAccess::Read)
            .flat_map(|register| places(body, register.place))
            .chain(facts.writes_carry().then_some(Place::Carry));
        for place in written.collect::<Vec<_>>() {
            if let Some(sort) = sort(body, place) {
                let term = self.script.input(Input::Opaque(facts.id(), place), sort);
                self.write(place, term);
            }
        }
    }

    /// The places that an instruction writes, with their terms.
    fn written(&mut self, facts: &Facts<'_>) -> Result<Vec<(Place, SortedTerm)>, NotExpressible> {
        let (form, slots) = facts.form().ok_or(NotExpressible::Unknown)?;
        if facts.has_side_effects() || facts.memory().next().is_some() {
            return Err(NotExpressible::Construct("an effect besides its results"));
        }
        let inst = facts.body().inst(facts.id());
        let signature = facts
            .module()
            .signature(inst.ok_or(NotExpressible::Unknown)?.sig);
        let modifiers: Vec<Modifier> = signature.modifiers().collect();
        let types: Vec<ScalarType> = signature.types().collect();
        let mut operands: Vec<Vec<SourceOperand>> = Vec::new();
        let video = visit_sources(facts, &types, |number, source| {
            operands.resize_with(operands.len().max(number + 1), Vec::new);
            if let Some(elements) = operands.last_mut() {
                elements.push(source);
            }
        });
        let values = vec![None; operands.iter().map(Vec::len).sum()];
        let inputs = Inputs {
            form,
            slots,
            modifiers: &modifiers,
            operands: &values,
            carry: None,
            video: video.ok_or(NotExpressible::Construct(
                "an operand that is read and written",
            ))?,
            choose: false,
        };
        if !inputs.fit() || source_count(form, slots) != operands.len() {
            return Err(NotExpressible::Unknown);
        }
        let mut terms = Vec::new();
        for ((index, _), elements) in sources(form, slots).zip(&operands) {
            terms.push(self.operand(facts.body(), elements, source_sort(&inputs, index))?);
        }
        let carry = match facts.reads_carry() {
            true => self.place(facts.body(), Place::Carry, Sort::Bool),
            false => self.script.constant(0, Sort::Bool),
        };
        let results = self.script.results(&inputs, &terms, carry)?;
        let mut written = Vec::new();
        for (destination, term) in results {
            self.assign(facts, &inputs, (destination, term), &mut written)?;
        }
        self.guarded(facts, written)
    }

    /// The value of a place before the next instruction. A special register has the sort that its operand has.
    fn place(&mut self, body: &Body, place: Place, operand: Sort) -> SortedTerm {
        if let Some(term) = self.state.get(&place) {
            return *term;
        }
        let sort = sort(body, place).unwrap_or(operand);
        self.script.input(Input::Place(place), sort)
    }

    /// The term of a source, in the sort that its operand has.
    fn operand(
        &mut self,
        body: &Body,
        elements: &[SourceOperand],
        sort: Sort,
    ) -> Result<SortedTerm, NotExpressible> {
        let element = match (sort, elements.len()) {
            (Sort::BitVec(width), count @ 2..) => Sort::BitVec(width / count as u32),
            _ => sort,
        };
        let mut terms = Vec::new();
        for &source in elements {
            let term = match source {
                SourceOperand::Bits(bits) => self.script.constant(bits, element),
                SourceOperand::Place(place) => self.place(body, place, element),
                SourceOperand::Not(place) => {
                    let predicate = self.place(body, place, Sort::Bool);
                    self.script.not(predicate)
                }
                SourceOperand::Unknown => {
                    return Err(NotExpressible::Construct(
                        "an address or a special register",
                    ));
                }
            };
            terms.push(self.script.resized(term, element)?);
        }
        let joined = match terms.as_slice() {
            [only] => Some(*only),
            terms => self.script.joined(terms),
        };
        joined.ok_or(NotExpressible::Construct("a vector of predicates"))
    }

    /// Adds the places that a result gets into.
    fn assign(
        &mut self,
        facts: &Facts<'_>,
        inputs: &Inputs<'_>,
        (destination, term): (Destination, SortedTerm),
        written: &mut Vec<(Place, SortedTerm)>,
    ) -> Result<(), NotExpressible> {
        let Destination::Operand(index) = destination else {
            written.push((Place::Carry, term));
            return Ok(());
        };
        let index = usize::from(index);
        let unknown = NotExpressible::Construct("a result that is not a register");
        let ty = inputs.value_type(index).ok_or(unknown)?;
        match facts.operand(index).ok_or(unknown)?.operand {
            Operand::Vector(list) => {
                let elements = facts.body().pool().list(list);
                let width = u32::from(ty.bits()) / elements.len().max(1) as u32;
                for (number, &element) in (0u32..).zip(elements) {
                    if let Some(place) = written_place(facts, element) {
                        let part = self.script.part(term, number * width, width);
                        let part = part.ok_or(unknown)?;
                        self.extend(facts, place, (part, Some(Extension::Zero)), written)?;
                    }
                }
            }
            operand => {
                if let Some(place) = written_place(facts, operand) {
                    let width = place.class(facts.body()).map_or(0, RegisterClass::bits);
                    self.extend(facts, place, (term, Extension::new(ty, width)), written)?;
                }
            }
        }
        Ok(())
    }

    /// Adds a result, in the sort that its place has.
    fn extend(
        &mut self,
        facts: &Facts<'_>,
        place: Place,
        (term, extension): (SortedTerm, Option<Extension>),
        written: &mut Vec<(Place, SortedTerm)>,
    ) -> Result<(), NotExpressible> {
        let sort = sort(facts.body(), place);
        let sort = sort.ok_or(NotExpressible::Construct("a register of an unknown type"))?;
        let mut term = self.script.extended(term, extension, sort)?;
        // Which of two results a register has that is written twice is not specified.
        if written.iter().any(|(other, _)| *other == place) {
            term = self.script.open(sort);
        }
        written.push((place, term));
        Ok(())
    }

    /// The results of an instruction where its guard is true, else the values before it.
    fn guarded(
        &mut self,
        facts: &Facts<'_>,
        written: Vec<(Place, SortedTerm)>,
    ) -> Result<Vec<(Place, SortedTerm)>, NotExpressible> {
        if facts.guard().is_none() {
            return Ok(written);
        }
        let unknown = NotExpressible::Construct("a guard that is not a register");
        let (register, sense) = facts.guard_register().ok_or(unknown)?;
        let place = Place::of_register(facts.body(), register).ok_or(unknown)?;
        let mut guard = self.place(facts.body(), place, Sort::Bool);
        if sense.is_negated() {
            guard = self.script.not(guard);
        }
        Ok(written
            .into_iter()
            .map(|(place, term)| {
                let before = self.place(facts.body(), place, term.sort());
                (place, self.script.select(guard, term, before))
            })
            .collect())
    }
}

/// The places of a register, or of the components of a vector register.
fn places(body: &Body, register: RegLane) -> impl Iterator<Item = Place> {
    let declaration = body.registers().get(register.register).map(|r| r.decl);
    let declaration = declaration.and_then(|id| body.reg_decls().get(id));
    let components = declaration.map_or(1, |d| d.vector.max(1));
    let only = Place::of_register(body, register);
    let all = (0..components).map(move |component| {
        Place::Register(RegLane {
            lane: Some(component),
            ..register
        })
    });
    let all = all.take(if only.is_some() { 0 } else { usize::MAX });
    only.into_iter().chain(all)
}

/// The sort for a register or the carry flag; `None` if its type is unknown.
fn sort(body: &Body, place: Place) -> Option<Sort> {
    match place {
        Place::Carry => Some(Sort::Bool),
        place => Some(match place.class(body)? {
            RegisterClass::Predicate => Sort::Bool,
            class => Sort::BitVec(class.bits().into()),
        }),
    }
}
