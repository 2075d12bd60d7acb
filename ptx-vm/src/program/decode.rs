//! Decodes functions.

use std::collections::HashMap;

use ptx_analysis::cfg::Cfg;
use ptx_analysis::graph::PostDominators;
use ptx_analysis::reg_lanes::Variables as Numbers;
use ptx_ir::facts::FunctionFacts;
use ptx_ir::raw::query::Queries;
use ptx_ir::{Binding, Body, EntityId as _, FuncId, FunctionKind, LabelId, Param, Statement};

use super::frame::Frame;
use super::instruction::Labels;
use super::operands::Context;
use super::step::{Step, Target};
use super::variables::Variables;
use super::{Function, instruction};
use crate::lanes::Place;
use crate::lower::Code;

/// Decodes a function.
pub(super) fn function(
    facts: FunctionFacts<'_>,
    id: FuncId,
    variables: &Variables,
    queries: &mut Queries<()>,
) -> Function {
    let (module, body) = (facts.module(), facts.body());
    queries.enter(module, id, body);
    let mut code = Code::new();
    let numbers = Numbers::new(body);
    let registers: Vec<Place> = numbers
        .ids()
        .map(|variable| {
            let class = numbers.class(variable);
            code.new_register(class.map_or(64, |class| class.bits()))
        })
        .collect();
    let default = ptx_ir::Function::EMPTY;
    let declared = module.functions().get(id).unwrap_or(&default);
    let frame = Frame::new(module, declared, body, |param| {
        registers_of_param(param, body, &numbers, &registers)
    });
    let mut context = Context {
        facts,
        id,
        is_entry: declared.kind == FunctionKind::Entry,
        variables,
        frame,
        code,
        registers,
        numbers,
        special: Vec::new(),
        shared_addresses: Vec::new(),
        changing: None,
    };
    let (steps_of_labels, ranks) = positions(facts);
    let mut labels = Labels::new(steps_of_labels);
    let mut steps = Vec::new();
    for (inst, _) in body.insts() {
        context.code.begin();
        let start = context.code.ops.len() as u32;
        let rank = ranks.get(steps.len()).copied().unwrap_or(u32::MAX);
        let (guard, step) = instruction::decode(&mut context, queries, inst, &mut labels);
        let end_of_ops = context.code.ops.len() as u32;
        let end = match &step {
            Step::Lanes(..) | Step::Special(..) => start,
            Step::Atomic(atomic) => atomic.start,
            Step::Act(act) => act.elements.first().map_or(end_of_ops, |e| e.ops.0),
            _ => end_of_ops,
        };
        steps.push(Target {
            guard,
            step,
            operand_ops: (start, end),
            inst,
            run: 0,
            rank,
        });
    }
    find_runs(&mut steps);
    Function {
        name: module.name(declared.name).into(),
        is_entry: declared.kind == FunctionKind::Entry,
        code: context.code,
        steps,
        numbers: context.numbers,
        frame: context.frame,
        registers: context.registers,
        special: context.special,
        shared_addresses: context.shared_addresses,
    }
}

/// Sets the lengths of runs of operations on all lanes.
fn find_runs(steps: &mut [Target]) {
    let (mut rank, mut run) = (None, 0);
    for target in steps.iter_mut().rev() {
        if rank != Some(target.rank) {
            run = 0;
        }
        rank = Some(target.rank);
        run = match (target.guard, &target.step) {
            (None, Step::Lanes(..)) => run + 1,
            _ => 0,
        };
        target.run = run;
    }
}

/// The places of the registers of a parameter; none if it is in memory.
fn registers_of_param(
    param: &Param,
    body: &Body,
    numbers: &Numbers,
    registers: &[Place],
) -> Vec<Place> {
    let Binding::Register(decl) = param.binding else {
        return Vec::new();
    };
    let mut registers_of_body = body.registers().iter();
    let register = registers_of_body.find(|(_, register)| register.decl == decl);
    register
        .into_iter()
        .flat_map(|(register, _)| numbers.of(register.into()))
        .filter_map(|variable| registers.get(variable.index()).copied())
        .collect()
}

/// The step that follows each label, and the rank of each step: a block that post-dominates another one comes after it, so that lanes
/// wait where they meet again.
fn positions(facts: FunctionFacts<'_>) -> (HashMap<LabelId, u32>, Vec<u32>) {
    let body = facts.body();
    let cfg = Cfg::new(facts);
    // From the ends of the function: a block comes after those that it dominates in the reversed graph.
    let mut order = HashMap::new();
    let from_ends = PostDominators::new(&cfg);
    for (position, block) in (0u32..).zip(from_ends.tree().order()) {
        order.insert(block, u32::MAX - position);
    }
    let mut labels: HashMap<LabelId, u32> = HashMap::new();
    let mut ranks = Vec::new();
    for (id, statement) in body.statements() {
        match statement {
            Statement::Label(label) => {
                labels.insert(label, ranks.len() as u32);
            }
            Statement::Inst(_) => {
                let block = cfg.of_statement(id);
                let rank = block.and_then(|b| order.get(&b.as_u32())).copied();
                ranks.push(rank.unwrap_or(0));
            }
            _ => {}
        }
    }
    (labels, ranks)
}
