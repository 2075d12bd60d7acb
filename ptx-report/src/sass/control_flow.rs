//! The loops of machine code.

use std::collections::HashMap;

use ptx_analysis::graph::{Dominators, Loops};
use ptx_analysis::internals::Digraph;

use super::{SassFunction, SassInstruction};

/// The indices of the instructions of each innermost loop, in ascending order. Jumps through tables and calls are not followed.
pub(super) fn innermost_loops(function: &SassFunction) -> Vec<Vec<usize>> {
    let instructions = &function.instructions;
    let labels: HashMap<&str, usize> = instructions
        .iter()
        .enumerate()
        .filter_map(|(index, i)| Some((i.label.as_deref()?, index)))
        .collect();
    let target = |i: &SassInstruction| {
        let is_branch = i.base() == "BRA";
        is_branch
            .then(|| labels.get(i.target()?).copied())
            .flatten()
    };
    let mut is_leader = vec![false; instructions.len()];
    for (index, instruction) in instructions.iter().enumerate() {
        if let Some(target) = target(instruction) {
            is_leader[target] = true;
        }
        if ends_block(instruction)
            && let Some(next) = is_leader.get_mut(index + 1)
        {
            *next = true;
        }
    }
    if let Some(first) = is_leader.first_mut() {
        *first = true;
    }
    let mut block_of = Vec::with_capacity(instructions.len());
    let mut blocks = 0u32;
    for leads in is_leader {
        blocks += u32::from(leads);
        block_of.push(blocks.saturating_sub(1));
    }
    let mut edges = Vec::new();
    for (index, instruction) in instructions.iter().enumerate() {
        let block = block_of[index];
        if let Some(target) = target(instruction) {
            edges.push((block, block_of[target]));
        }
        match block_of.get(index + 1) {
            Some(&next) if next != block && falls_through(instruction) => {
                edges.push((block, next));
            }
            _ => {}
        }
    }
    let Ok(graph) = Digraph::new(blocks, 0, &edges) else {
        return Vec::new();
    };
    let dominators = Dominators::new(&graph);
    let loops = Loops::natural(&graph, &dominators);
    let mut members: HashMap<_, Vec<usize>> = HashMap::new();
    for (index, block) in block_of.iter().enumerate() {
        if let Some(innermost) = loops.innermost(*block) {
            members.entry(innermost).or_default().push(index);
        }
    }
    // A loop with an inner loop is not an innermost one.
    for (_, info) in loops.iter() {
        if let Some(parent) = info.parent() {
            members.remove(&parent);
        }
    }
    let mut innermost: Vec<Vec<usize>> = members.into_values().collect();
    innermost.sort_unstable();
    innermost
}

fn ends_block(instruction: &SassInstruction) -> bool {
    matches!(
        instruction.base(),
        "BRA" | "BRX" | "JMP" | "JMX" | "EXIT" | "RET" | "KILL"
    )
}

fn falls_through(instruction: &SassInstruction) -> bool {
    // A branch may have its predicate as an operand or depend on a modifier: `BRA.U UP0, `(.L_x_1)`, `BRA.DIV UR4, `(.L_x_1)`.
    let is_unconditional = instruction.guard.is_none()
        && instruction.opcode.split('.').count() == 1
        && !instruction.operands.contains(',');
    !(ends_block(instruction)
        && (is_unconditional || (instruction.guard.is_none() && instruction.base() != "BRA")))
}
