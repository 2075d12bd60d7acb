//! The results of instructions of a function as terms over the places that they read.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use ptx_ir::facts::{Facts, FunctionFacts, RegisterComponent};
use ptx_ir::{Body, InstId, Operand, Statement, StmtId};
use ptx_isa::internals::Destination;
use ptx_isa::{Modifier, RegisterClass, ScalarType};

use super::NotExpressible;
use super::definition::{Sort, sources};
use super::script::{Input, ResultTerm, Script, SortedTerm, source_sort};
use crate::fold::computation::Inputs;
use crate::operands::{Extension, Place, SourceOperand, visit_sources, written_place};

/// The places that instructions write, as terms over the places that they read.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Formula {
    /// The terms. Further terms can be added.
    pub script: Script,
    /// The instructions without a term, in their order. Their effects besides writing registers, such as storing or branching, are not part
    /// of the formula, and the values that they write are inputs.
    pub opaque: Vec<InstId>,
    /// The places that are written, in the order in which they are first written.
    results: Vec<Place>,
    /// The terms of the places after the last instruction.
    state: BTreeMap<Place, SortedTerm>,
}

/// The results of an instruction as terms: one for each place that it writes. If there is a guard and it is false, a place keeps its value.
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
/// The instruction has effects besides computing registers from registers, or its results are not expressible.
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

    /// Executes an instruction. If it has no term, nothing changes.
    fn add(&mut self, facts: &Facts<'_>) -> Result<(), NotExpressible> {
        for (place, term) in self.written_terms(facts)? {
            self.write(place, term);
        }
        Ok(())
    }

    /// Sets the term of a written place.
    fn write(&mut self, place: Place, term: SortedTerm) {
        self.state.insert(place, term);
        if !self.results.contains(&place) {
            self.results.push(place);
        }
    }

    /// Makes inputs of the places that an instruction may write.
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
    fn written_terms(
        &mut self,
        facts: &Facts<'_>,
    ) -> Result<Vec<(Place, SortedTerm)>, NotExpressible> {
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
        if !inputs.fit() || sources(form, slots).count() != operands.len() {
            return Err(NotExpressible::Unknown);
        }
        let mut terms = Vec::new();
        for ((index, _), elements) in sources(form, slots).zip(&operands) {
            terms.push(self.operand(facts.body(), elements, source_sort(&inputs, index))?);
        }
        let carry = if facts.reads_carry() {
            self.place(facts.body(), Place::Carry, Sort::Bool)
        } else {
            self.script.constant(0, Sort::Bool)
        };
        let results = self.script.results(&inputs, &terms, carry)?;
        let mut written = Vec::new();
        for result in results {
            self.assign(facts, &inputs, result, &mut written)?;
        }
        self.guarded(facts, written)
    }

    /// The value of a place before the next instruction. A special register has its operand's sort.
    fn place(&mut self, body: &Body, place: Place, operand_sort: Sort) -> SortedTerm {
        if let Some(term) = self.state.get(&place) {
            return *term;
        }
        let sort = sort(body, place).unwrap_or(operand_sort);
        self.script.input(Input::Place(place), sort)
    }

    /// The term of a source, whose operand has this sort.
    fn operand(
        &mut self,
        body: &Body,
        elements: &[SourceOperand],
        sort: Sort,
    ) -> Result<SortedTerm, NotExpressible> {
        let element_sort = match (sort, elements.len()) {
            (Sort::BitVec(width), count @ 2..) => Sort::BitVec(width / count as u32),
            _ => sort,
        };
        let mut terms = Vec::new();
        for &source in elements {
            let term = match source {
                SourceOperand::Bits(bits) => self.script.constant(bits, element_sort),
                SourceOperand::Place(place) => self.place(body, place, element_sort),
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
            terms.push(self.script.resized(term, element_sort)?);
        }
        let joined = match terms.as_slice() {
            [term] => Some(*term),
            elements => self.script.joined(elements),
        };
        joined.ok_or(NotExpressible::Construct("a vector of predicates"))
    }

    /// Adds the places that a result is written to.
    fn assign(
        &mut self,
        facts: &Facts<'_>,
        inputs: &Inputs<'_>,
        result: ResultTerm,
        written: &mut Vec<(Place, SortedTerm)>,
    ) -> Result<(), NotExpressible> {
        let term = result.term;
        let Destination::Operand(index) = result.destination else {
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
                        let part = self
                            .script
                            .part(term, number * width, width)
                            .ok_or(unknown)?;
                        let term = self.extend(facts, place, part, Some(Extension::Zero))?;
                        self.add_written(written, place, term);
                    }
                }
            }
            operand => {
                if let Some(place) = written_place(facts, operand) {
                    let width = place.class(facts.body()).map_or(0, RegisterClass::bits);
                    let term = self.extend(facts, place, term, Extension::new(ty, width))?;
                    self.add_written(written, place, term);
                }
            }
        }
        Ok(())
    }

    /// Extends a result to the sort that the place has to which it is written.
    fn extend(
        &mut self,
        facts: &Facts<'_>,
        place: Place,
        result: SortedTerm,
        extension: Option<Extension>,
    ) -> Result<SortedTerm, NotExpressible> {
        let sort = sort(facts.body(), place)
            .ok_or(NotExpressible::Construct("a register of an unknown type"))?;
        self.script.extended(result, extension, sort)
    }

    /// Adds a written place. If an instruction writes a register twice, it is not specified which result the register has.
    fn add_written(
        &mut self,
        written: &mut Vec<(Place, SortedTerm)>,
        place: Place,
        term: SortedTerm,
    ) {
        let is_repeated = written.iter().any(|(other, _)| *other == place);
        let term = if is_repeated {
            self.script.undefined_bits(term.sort())
        } else {
            term
        };
        written.push((place, term));
    }

    /// The results of an instruction if its guard is true, and the values before it otherwise.
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
                let previous_value = self.place(facts.body(), place, term.sort());
                (place, self.script.select(guard, term, previous_value))
            })
            .collect())
    }
}

/// The places of a register, or of the components of a vector register.
fn places(body: &Body, register: RegisterComponent) -> impl Iterator<Item = Place> {
    let component_count = body
        .registers()
        .get(register.register)
        .and_then(|register| body.reg_decls().get(register.decl))
        .map_or(1, |declaration| declaration.vector.max(1));
    let scalar = Place::of_register(body, register);
    let components = if scalar.is_some() { 0 } else { component_count };
    scalar
        .into_iter()
        .chain((0..components).map(move |component| {
            Place::Register(RegisterComponent {
                component: Some(component),
                ..register
            })
        }))
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
