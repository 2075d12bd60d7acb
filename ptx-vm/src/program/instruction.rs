//! Decodes instructions.

use std::collections::HashMap;
use std::sync::Arc;

use ptx_analysis::tables::Tables;
use ptx_ir::facts::{Facts, Flow, FunctionFacts, Targets};
use ptx_ir::raw::query::Queries;
use ptx_ir::{InstId, LabelId, Operand};
use ptx_isa::internals::{Destination, Expr, Length};
use ptx_isa::{Action, Marks, Modifier, Role, ScalarType, Selector};
use ptx_semantics::fold::Video;

use super::accesses::{combinations, memory_step};
use super::action_operands::act_operands;
use super::calls;
use super::operands::{Context, OPERANDS};
use super::parts::Places;
use super::selected_form::{SelectedForm, select_form};
use super::step::{Act, Fold, Guard, Step};
use crate::lanes::Place;
use crate::lower::Lowering;

/// The steps that the labels of a function lead to.
pub(super) struct Labels<'a> {
    /// The step that follows each label.
    pub(super) steps: HashMap<LabelId, u32>,
    tables: Tables<'a>,
    /// The steps of the targets of each table that was met.
    decoded: HashMap<LabelId, Option<Arc<[u32]>>>,
}

impl<'a> Labels<'a> {
    pub(super) fn new(steps: HashMap<LabelId, u32>) -> Self {
        Self {
            steps,
            tables: Tables::default(),
            decoded: HashMap::new(),
        }
    }

    /// The steps that a table leads to, in order.
    fn steps_of_table(&mut self, facts: FunctionFacts<'a>, table: LabelId) -> Option<Arc<[u32]>> {
        if let Some(steps) = self.decoded.get(&table) {
            return steps.clone();
        }
        let targets = self.tables.targets(facts, table).into_iter();
        let steps: Option<Arc<[u32]>> = targets
            .map(|label| self.steps.get(&label?).copied())
            .collect();
        self.decoded.insert(table, steps.clone());
        steps
    }
}

/// Decodes an instruction and its guard.
pub(super) fn decode<'a>(
    context: &mut Context<'a>,
    queries: &mut Queries<()>,
    inst: InstId,
    labels: &mut Labels<'a>,
) -> (Option<Guard>, Step) {
    let facts = context.facts.inst(inst);
    let guard = facts.guard_register().and_then(|(place, sense)| {
        let place = context.register(place.register, place.component);
        match place[..] {
            [Place::Predicate(predicate)] => Some(Guard {
                predicate,
                is_negated: sense.is_negated(),
            }),
            _ => None,
        }
    });
    if facts.guard().is_some() && guard.is_none() {
        return (None, unsupported("the guard is not a register"));
    }
    let step = match facts.flow() {
        Flow::Next => ordinary(context, queries, inst),
        Flow::Jump => match facts.targets() {
            Targets::Label(label) => labels.steps.get(&label).map(|&step| Step::Jump(step)),
            _ => None,
        }
        .ok_or("unknown branch target"),
        Flow::Table => table(context, inst, &facts, labels).ok_or("unknown branch targets"),
        Flow::Call => calls::call(context, inst, &facts),
        Flow::Return => Ok(Step::Return),
        Flow::Exit => Ok(Step::Exit),
        Flow::Trap => Ok(Step::Trap),
        _ => Err("unknown instruction"),
    };
    (guard, step.unwrap_or_else(unsupported))
}

/// A modifier whose effect the PTX ISA manual does not describe, although it describes that of the instruction. Hints have no effect with any modifier.
fn undescribed_modifier(action: Action, modifiers: &[Modifier]) -> Option<Modifier> {
    if matches!(action, Action::Hint | Action::Undescribed) {
        return None;
    }
    modifiers.iter().copied().find(|modifier| {
        matches!(
            modifier,
            Modifier::OverrideGlobalDim | Modifier::OverrideGlobalDimStride | Modifier::LayoutV1
        ) || modifier.text().starts_with(".mbarrier::report")
            && *modifier != Modifier::MbarrierReportDisabled
    })
}

fn unsupported(why: &str) -> Step {
    Step::Unsupported(why.into())
}

/// A jump to one of the targets of a table.
fn table<'a>(
    context: &mut Context<'a>,
    inst: InstId,
    facts: &Facts<'_>,
    labels: &mut Labels<'a>,
) -> Option<Step> {
    let Targets::List(list) = facts.targets() else {
        return None;
    };
    let index = *context.facts.body().operands(inst).first()?;
    let index = match context.source(index, Some(ScalarType::U32))?[..] {
        [place] => place,
        _ => return None,
    };
    let targets = labels.steps_of_table(context.facts, list.label)?;
    Some(Step::Table(index, targets))
}

/// An instruction after which the next one follows.
fn ordinary(
    context: &mut Context<'_>,
    queries: &mut Queries<()>,
    inst: InstId,
) -> Result<Step, &'static str> {
    let selected = select_form(context.facts, queries, inst)
        .ok_or("no form of the instruction accepts its operands")?;
    if let Some(action) = selected.form.action() {
        if let Some(modifier) = undescribed_modifier(action, selected.mnemonic.modifiers()) {
            let text = modifier.text();
            return Ok(unsupported(&format!(
                "it has the modifier `{text}`, whose effect the PTX ISA manual does not describe"
            )));
        }
        let operands = match act_operands(context, inst, &selected) {
            Some(operands) => operands,
            None if crate::execute::performs(action) => return Err(OPERANDS),
            None => Vec::new(),
        };
        let elements = if changes_memory(&selected) {
            combinations(context, &selected).ok_or(OPERANDS)?
        } else {
            Vec::new()
        };
        let mut form_operands = selected.form.operands().iter();
        return Ok(Step::Act(Box::new(Act {
            action,
            modifiers: selected.mnemonic.modifiers().to_vec(),
            operands,
            elements,
            is_multimem: form_operands.any(|o| o.marks().contains(Marks::MULTIMEM)),
        })));
    }
    let Some(computation) = selected.form.computation() else {
        return Err("its effect is not described in the instruction tables");
    };
    let address_operand =
        computation
            .assignments()
            .iter()
            .find_map(|a| match (a.target(), a.value()) {
                (Destination::Memory(operand), _) | (_, Expr::Memory(operand)) => Some(operand),
                _ => None,
            });
    match address_operand {
        Some(operand) => memory_step(context, inst, &selected, operand.into()),
        None => computed(context, inst, &selected),
    }
}

/// Whether the tables state the change of a value in memory, which depends on the value.
fn changes_memory(selected: &SelectedForm) -> bool {
    let Some(computation) = selected.form.computation() else {
        return false;
    };
    computation.assignments().iter().any(|assignment| {
        matches!(assignment.target(), Destination::Memory(_))
            && !matches!(assignment.value(), Expr::Operand(_))
    })
}

/// An instruction whose results are a function of its operands.
fn computed(
    context: &mut Context<'_>,
    inst: InstId,
    selected: &SelectedForm,
) -> Result<Step, &'static str> {
    let start = context.code.ops.len() as u32;
    context.changing = None;
    if lower(context, selected).is_some() {
        let ops = (start, context.code.ops.len() as u32);
        return Ok(match context.changing.take() {
            Some((register, place)) => Step::Special(register, place, ops),
            None => Step::Lanes(ops.0, ops.1),
        });
    }
    context.code.ops.truncate(start as usize);
    match context.changing {
        None => folded(context, inst, selected).ok_or(OPERANDS),
        Some(_) => Err(OPERANDS),
    }
}

/// Adds the operations of an instruction whose results the tables give as expressions.
fn lower(context: &mut Context<'_>, selected: &SelectedForm) -> Option<()> {
    let negated = selected.operands.iter().flatten().any(|o| {
        matches!(o, Operand::Neg(_))
            || matches!(o, Operand::Component(selector, _) if selector.element().is_none())
    });
    if negated {
        return None;
    }
    let places = Places::new(context, selected)?;
    let lengths = selected.form.operands().iter().zip(&selected.lengths);
    let elements = lengths
        .filter(|(o, _)| o.role() == Role::Def && o.length() != Length::Scalar)
        .filter_map(|(_, length)| *length)
        .max()
        .unwrap_or(1);
    let mut results = Vec::new();
    for element in 0..elements {
        let mut lowering = Lowering::new(
            &mut context.code,
            selected.form,
            &selected.slots,
            selected.mnemonic.modifiers(),
            &places.operands,
        );
        lowering.element = element;
        results.extend(lowering.lower()?.results);
    }
    context.code.write_results(&mut results);
    places.take_apart(context)
}

/// An instruction that is evaluated lane by lane.
fn folded(context: &mut Context<'_>, inst: InstId, selected: &SelectedForm) -> Option<Step> {
    let facts = context.facts.inst(inst);
    let mut sources = Vec::new();
    let mut results = Vec::new();
    let mut video = Video::default();
    for (index, form_operand) in selected.form.operands().iter().enumerate() {
        let Some(operand) = selected.operands[index] else {
            continue;
        };
        let ty = selected.types[index];
        match form_operand.role() {
            Role::Def if operand == Operand::Sink => results.push(Vec::new()),
            Role::Def => {
                let operand = without_selector(context, operand, &mut video.into);
                let places = context.destinations(operand)?.into_iter();
                let bits = ty.map_or(32, ScalarType::bits);
                let places = places.map(|p| p.unwrap_or_else(|| context.code.temporary(bits)));
                results.push(places.collect());
            }
            Role::Use | Role::Imm | Role::Sreg => {
                let first_source = sources.len();
                let mut selector = None;
                let operand = match operand {
                    Operand::Neg(inner) => {
                        *video.negative.get_mut(first_source)? = true;
                        context.facts.body().pool().get(inner)
                    }
                    other => other,
                };
                let operand = without_selector(context, operand, &mut selector);
                if selector.is_some() {
                    *video.parts.get_mut(first_source)? = selector;
                }
                sources.extend(context.source(operand, ty)?);
            }
            _ => return None,
        }
    }
    let mut results = results.into_iter();
    let first = results.next()?;
    Some(Step::Fold(Box::new(Fold {
        opcode: selected.mnemonic.opcode(),
        modifiers: selected.mnemonic.modifiers().to_vec(),
        video,
        sources,
        results: first,
        ty: selected.result_type(),
        second: results.next().and_then(|second| second.first().copied()),
        reads_carry: facts.reads_carry(),
        writes_carry: facts.writes_carry(),
    })))
}

/// An operand without its selector of bytes or half-words, which is put into `found_selector`.
fn without_selector(
    context: &Context<'_>,
    operand: Operand,
    found_selector: &mut Option<Selector>,
) -> Operand {
    match operand {
        Operand::Component(selector, inner) if selector.element().is_none() => {
            *found_selector = Some(selector);
            context.facts.body().pool().get(inner)
        }
        other => other,
    }
}
