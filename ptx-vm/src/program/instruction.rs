//! Decodes instructions.

use std::collections::HashMap;
use std::sync::Arc;

use ptx_analysis::fold::Video;
use ptx_analysis::tables::Tables;
use ptx_ir::facts::{Callees, Facts, Flow, FunctionFacts, Targets};
use ptx_ir::query::Queries;
use ptx_ir::{InstId, LabelId, Operand, SymbolKind};
use ptx_isa::{Destination, Expr, Length, Role, ScalarType, Selector};

use super::accesses::{combination, memory_step};
use super::act_operands::act_operands;
use super::chosen::{Chosen, choose};
use super::operands::Context;
use super::step::{Act, Argument, Call, Callee, Fold, Step, Window};
use crate::lanes::{Integer, Kind, Place};
use crate::lower::{Lowering, Source};

/// Where the labels of a function lead.
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
    fn table(&mut self, facts: FunctionFacts<'a>, table: LabelId) -> Option<Arc<[u32]>> {
        if let Some(known) = self.decoded.get(&table) {
            return known.clone();
        }
        let targets = self.tables.targets(facts, table).into_iter();
        let steps = targets.map(|label| self.steps.get(&label?).copied());
        let steps: Option<Arc<[u32]>> = steps.collect();
        self.decoded.insert(table, steps.clone());
        steps
    }
}

/// The registers that a value is divided among, and where it is.
type Split = (Vec<Option<Place>>, Place);

/// Decodes an instruction and its guard.
pub(super) fn decode<'a>(
    context: &mut Context<'a>,
    queries: &mut Queries<()>,
    inst: InstId,
    labels: &mut Labels<'a>,
) -> (Option<(u32, bool)>, Step) {
    let facts = context.facts.inst(inst);
    let guard = facts.guard_register().and_then(|(place, negated)| {
        let place = context.register(place.register, place.lane);
        match place[..] {
            [Place::Predicate(at)] => Some((at, negated)),
            _ => None,
        }
    });
    if facts.guard().is_some() && guard.is_none() {
        return (None, unsupported("the guard is not a register"));
    }
    let step = match facts.flow() {
        Flow::Next => ordinary(context, queries, inst),
        Flow::Jump => match facts.targets() {
            Targets::Label(label) => labels.steps.get(&label).map(|&to| Step::Jump(to)),
            _ => None,
        }
        .ok_or("unknown branch target"),
        Flow::Table => table(context, inst, &facts, labels).ok_or("unknown branch targets"),
        Flow::Call => call(context, inst, &facts).ok_or("unknown callee"),
        Flow::Return => Ok(Step::Return),
        Flow::Exit => Ok(Step::Exit),
        Flow::Trap => Ok(Step::Trap),
        _ => Err("unknown instruction"),
    };
    (guard, step.unwrap_or_else(unsupported))
}

fn unsupported(why: &str) -> Step {
    Step::Unsupported(why.into())
}

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
    let targets = labels.table(context.facts, list.label)?;
    Some(Step::Table(index, targets))
}

fn call(context: &mut Context<'_>, inst: InstId, facts: &Facts<'_>) -> Option<Step> {
    let body = context.facts.body();
    let module = context.facts.module();
    let operands = body.operands(inst);
    let callee = match facts.callees()? {
        Callees::Function(symbol) => match module.symbols().get(symbol)?.kind {
            SymbolKind::Function(id) if module.body(id).is_some() => Callee::Function(id),
            SymbolKind::Function(_) => {
                Callee::System(module.name(module.symbols().get(symbol)?.name).into())
            }
            _ => return None,
        },
        _ => {
            let register = operands.iter().find_map(|&operand| match operand {
                Operand::Reg(register) => Some(context.register(register, None)),
                _ => None,
            })?;
            match register[..] {
                [place] => Callee::Indirect(place),
                _ => return None,
            }
        }
    };
    let is_callee = |operand: &Operand| matches!(operand, Operand::Symbol(_) | Operand::Reg(_));
    let at = operands.iter().position(is_callee)?;
    let mut lists = [Vec::new(), Vec::new()];
    let mut last_bytes = 0;
    for (index, operand) in operands.iter().enumerate() {
        if let Operand::List(list) = operand {
            let list = body.pool().list(*list);
            let into = &mut lists[usize::from(index > at)];
            for &part in list {
                into.push(argument(context, part)?);
                last_bytes = match part {
                    Operand::Var(var) => context.frame.sizes.get(&var).copied().unwrap_or(0),
                    _ => 0,
                };
            }
        }
    }
    let [results, arguments] = lists;
    Some(Step::Call(Box::new(Call {
        callee,
        arguments,
        last_bytes,
        results,
    })))
}

fn argument(context: &mut Context<'_>, operand: Operand) -> Option<Argument> {
    Some(match operand {
        Operand::Sink => Argument::None,
        Operand::Var(_) => Argument::Memory(context.address(operand, Window::Local)?.offset),
        other => match context.source(other, None)?[..] {
            [place] => Argument::Register(place),
            _ => return None,
        },
    })
}

/// An instruction after which the next one follows.
fn ordinary(
    context: &mut Context<'_>,
    queries: &mut Queries<()>,
    inst: InstId,
) -> Result<Step, &'static str> {
    let chosen = choose(context.facts, queries, inst)
        .ok_or("no form of the instruction accepts its operands")?;
    if let Some(action) = chosen.form.action() {
        let operands = act_operands(context, inst, &chosen);
        let element = match chosen.form.computation() {
            Some(_) => Some(combination(context, &chosen).ok_or("unsupported operands")?),
            None => None,
        };
        return Ok(Step::Act(Box::new(Act {
            action,
            modifiers: chosen.mnemonic.modifiers().to_vec(),
            operands,
            element,
        })));
    }
    let Some(computation) = chosen.form.computation() else {
        return Err("its effect is not described in the instruction tables");
    };
    let memory = computation.assignments().iter().find_map(|a| {
        let of = |expr: Expr| match expr {
            Expr::Memory(at) => Some(usize::from(at)),
            _ => None,
        };
        match a.target() {
            Destination::Memory(at) => Some(at.into()),
            _ => of(a.value()),
        }
    });
    match memory {
        Some(at) => memory_step(context, inst, &chosen, at),
        None => computed(context, inst, &chosen),
    }
}

/// The places of the operands of a form. Vectors in the place of one value are put together, and taken apart by the second result.
pub(super) fn places(
    context: &mut Context<'_>,
    chosen: &Chosen,
) -> Option<(Vec<Option<Source>>, Vec<Split>)> {
    let mut all = Vec::new();
    let mut split = Vec::new();
    for (index, operand) in chosen.form.operands().iter().enumerate() {
        let Some(written) = chosen.operands[index] else {
            all.push(None);
            continue;
        };
        if written == Operand::Sink {
            all.push(None);
            continue;
        }
        let ty = chosen.types[index];
        let scalar = operand.length() == Length::Scalar;
        match operand.role() {
            Role::Def | Role::ReadWrite => match (written, ty) {
                (Operand::Vector(list), Some(ty)) if scalar => {
                    let parts = context.facts.body().pool().list(list).to_vec();
                    let mut elements = Vec::new();
                    for part in parts {
                        elements.push(destination(context, part)?);
                    }
                    let whole = context.code.new_register(ty.bits());
                    split.push((elements, whole));
                    all.push(Some(vec![whole]));
                }
                _ => all.push(Some(context.source(written, ty)?)),
            },
            Role::Use | Role::Imm | Role::Sreg | Role::Symbol | Role::Func => match (written, ty) {
                (Operand::Vector(list), Some(ty)) if scalar => {
                    let parts = context.facts.body().pool().list(list).to_vec();
                    let bits = ty.bits() / (parts.len().max(1) as u16);
                    let part = ScalarType::ALL
                        .iter()
                        .copied()
                        .find(|t| t.bits() == bits && t.kind() == ptx_isa::TypeKind::Bits)?;
                    let mut elements = Vec::new();
                    for one in parts {
                        elements.extend(context.source(one, Some(part))?);
                    }
                    all.push(Some(vec![joined(context, &elements, ty.bits(), bits)?]));
                }
                _ => all.push(Some(context.source(written, ty)?)),
            },
            _ => all.push(None),
        }
    }
    Some((all, split))
}

fn destination(context: &mut Context<'_>, operand: Operand) -> Option<Option<Place>> {
    match operand {
        Operand::Sink => Some(None),
        other => match context.source(other, None)?[..] {
            [place] => Some(Some(place)),
            _ => None,
        },
    }
}

/// Elements side by side, the first one lowest.
fn joined(context: &mut Context<'_>, elements: &[Place], bits: u16, each: u16) -> Option<Place> {
    let code = &mut context.code;
    if bits == 128 {
        let to = code.new_register(128);
        let Place::Quad(low) = to else { return None };
        for (n, element) in elements.iter().enumerate() {
            let Place::Double(from) = *element else {
                return None;
            };
            code.push(Kind::Double(Integer::Copy), low + n as u32, [from; 3]);
        }
        return (elements.len() == 2).then_some(to);
    }
    let mut whole: Option<Place> = None;
    for (n, element) in elements.iter().enumerate() {
        let shift = n as u16 * each;
        let part = match (bits, *element) {
            (64, Place::Word(at)) => Place::Double(code.double(Kind::Widen, [at, 0, 0])),
            (_, other) => other,
        };
        let part = match (part, shift) {
            (part, 0) => part,
            (Place::Double(at), _) => {
                let by = code.constant_double(shift.into());
                Place::Double(code.double(Kind::Double(Integer::ShiftLeft), [at, by, by]))
            }
            (Place::Word(at), _) => {
                let by = code.constant_word(shift.into());
                Place::Word(code.word(Kind::Word(Integer::ShiftLeft), [at, by, by]))
            }
            _ => return None,
        };
        whole = Some(match (whole, part) {
            (None, part) => part,
            (Some(Place::Double(a)), Place::Double(b)) => {
                Place::Double(code.double(Kind::Double(Integer::Or), [a, b, b]))
            }
            (Some(Place::Word(a)), Place::Word(b)) => {
                Place::Word(code.word(Kind::Word(Integer::Or), [a, b, b]))
            }
            _ => return None,
        });
    }
    whole
}

/// Writes the parts of a value to registers.
fn take_apart(context: &mut Context<'_>, elements: &[Option<Place>], whole: Place) -> Option<()> {
    let code = &mut context.code;
    let total = code.width(whole);
    let each = total / (elements.len().max(1) as u16);
    for (n, element) in elements.iter().enumerate() {
        let Some(to) = *element else { continue };
        let shift = n as u32 * u32::from(each);
        let part = match whole {
            Place::Quad(low) => Place::Double(low + shift / 64),
            Place::Double(at) if each == 32 => {
                Place::Word(code.word(Kind::Narrow, [at, 0, shift / 32]))
            }
            Place::Double(at) => {
                let high = code.word(Kind::Narrow, [at, 0, shift / 32]);
                let by = code.constant_word(shift % 32);
                let kind = Kind::Word(Integer::ShiftRight { signed: false });
                let at = code.word(kind, [high, by, by]);
                code.extend(Place::Word(at), each, false)
            }
            Place::Word(at) => {
                let by = code.constant_word(shift);
                let kind = Kind::Word(Integer::ShiftRight { signed: false });
                let at = code.word(kind, [at, by, by]);
                code.extend(Place::Word(at), each, false)
            }
            Place::Predicate(_) => return None,
        };
        code.copy(to, part);
    }
    Some(())
}

/// An instruction whose results are a function of its operands.
fn computed(
    context: &mut Context<'_>,
    inst: InstId,
    chosen: &Chosen,
) -> Result<Step, &'static str> {
    if let Some(step) = changing_register(context, chosen) {
        return Ok(step);
    }
    let start = context.code.ops.len() as u32;
    let lowered = lower(context, chosen);
    if lowered.is_some() {
        return Ok(Step::Lanes(start, context.code.ops.len() as u32));
    }
    context.code.ops.truncate(start as usize);
    folded(context, inst, chosen).ok_or("unsupported operands")
}

/// A copy of a special register whose value changes.
fn changing_register(context: &mut Context<'_>, chosen: &Chosen) -> Option<Step> {
    let special = chosen.operands.iter().find_map(|o| match o {
        Some(Operand::Special(register)) if register.is_volatile() => Some(*register),
        _ => None,
    })?;
    let at = chosen
        .form
        .operands()
        .iter()
        .position(|o| o.role() == Role::Def)?;
    match context.source(chosen.operands[at]?, None)?[..] {
        [place] => Some(Step::Special(special, place)),
        _ => None,
    }
}

fn lower(context: &mut Context<'_>, chosen: &Chosen) -> Option<()> {
    let negated = chosen.operands.iter().flatten().any(|o| {
        matches!(o, Operand::Neg(_))
            || matches!(o, Operand::Lane(selector, _) if selector.element().is_none())
    });
    if negated {
        return None;
    }
    let (operands, split) = places(context, chosen)?;
    let lengths = chosen.form.operands().iter().zip(&chosen.lengths);
    let elements = lengths
        .filter(|(o, _)| o.role() == Role::Def && o.length() != Length::Scalar)
        .filter_map(|(_, length)| *length)
        .max()
        .unwrap_or(1);
    for element in 0..elements {
        let mut lowering = Lowering::new(
            &mut context.code,
            chosen.form,
            &chosen.slots,
            chosen.mnemonic.modifiers(),
            &operands,
        );
        lowering.element = element;
        lowering.lower()?;
    }
    for (elements, whole) in split {
        take_apart(context, &elements, whole)?;
    }
    Some(())
}

/// An instruction that is evaluated lane by lane.
fn folded(context: &mut Context<'_>, inst: InstId, chosen: &Chosen) -> Option<Step> {
    let facts = context.facts.inst(inst);
    let mut sources = Vec::new();
    let mut results = Vec::new();
    let mut video = Video::default();
    for (index, operand) in chosen.form.operands().iter().enumerate() {
        let Some(written) = chosen.operands[index] else {
            continue;
        };
        let ty = chosen.types[index];
        match operand.role() {
            Role::Def if written == Operand::Sink => results.push(Vec::new()),
            Role::Def => {
                let written = part(context, written, &mut video.into);
                results.push(context.source(written, ty)?);
            }
            Role::Use | Role::Imm => {
                let at = sources.len();
                let mut selected = None;
                let plain = match written {
                    Operand::Neg(inner) => {
                        *video.negative.get_mut(at)? = true;
                        context.facts.body().pool().get(inner)
                    }
                    other => other,
                };
                let plain = part(context, plain, &mut selected);
                if selected.is_some() {
                    *video.parts.get_mut(at)? = selected;
                }
                sources.extend(context.source(plain, ty)?);
            }
            _ => return None,
        }
    }
    let mut results = results.into_iter();
    let first = results.next()?;
    Some(Step::Fold(Box::new(Fold {
        opcode: chosen.mnemonic.opcode(),
        modifiers: chosen.mnemonic.modifiers().to_vec(),
        video,
        sources,
        results: first,
        ty: chosen.result_type(),
        second: results.next().and_then(|second| second.first().copied()),
        reads_carry: facts.reads_carry(),
        writes_carry: facts.writes_carry(),
    })))
}

/// An operand without the bytes or half-words that are selected of it.
fn part(context: &Context<'_>, operand: Operand, selected: &mut Option<Selector>) -> Operand {
    match operand {
        Operand::Lane(selector, at) if selector.element().is_none() => {
            *selected = Some(selector);
            context.facts.body().pool().get(at)
        }
        other => other,
    }
}
