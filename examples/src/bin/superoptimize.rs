//! A superoptimizer: finds three instructions that one instruction can replace, by tests on random values, and proves it with z3.

use std::collections::{BTreeSet, HashMap};
use std::io::Write as _;
use std::process::{Command, Stdio};

use ptx_analysis::cfg::Block;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{EntityId, InstId, StmtId};
use ptx_isa::{Modifier, Opcode};
use ptx_semantics::fold::{Operation, Video, fold};
use ptx_semantics::smt::{Formula, Input, Sort, SortedTerm};
use ptx_semantics::{Place, SourceOperand, evaluate, smt_window, visit_sources};

/// An instruction whose sources are numbers of values: the inputs of the window, then constants.
type Candidate = (Opcode, &'static [Modifier], Vec<usize>);

/// The result of a window for the values of its inputs.
fn run(
    function: FunctionFacts<'_>,
    window: &[InstId],
    mut state: HashMap<Place, u128>,
) -> Option<u128> {
    let mut last = None;
    for &id in window {
        for (place, bits) in evaluate(&function.inst(id), |place| state.get(&place).copied())? {
            state.insert(place, bits?);
            last = bits;
        }
    }
    last
}

/// The constants of a window, and sums and products of them.
fn constants(function: FunctionFacts<'_>, window: &[InstId]) -> BTreeSet<u128> {
    let mut written = BTreeSet::from([0]);
    for &id in window {
        visit_sources(&function.inst(id), &[], |_, source| {
            if let SourceOperand::Bits(bits) = source {
                written.insert(bits);
            }
        });
    }
    let pairs = written
        .iter()
        .flat_map(|a| written.iter().map(move |b| (*a, *b)));
    let made = pairs.flat_map(|(a, b)| {
        [
            a,
            !a,
            a.wrapping_add(b),
            a.wrapping_mul(b),
            a & b,
            1 << (a % 64),
        ]
    });
    made.collect()
}

/// The 32-bit instructions whose sources are among the given ones. The first source is an input.
fn candidates(inputs: usize, values: usize) -> Vec<Candidate> {
    use Modifier::{B32, Lo, S32, U32};
    let binary: [(Opcode, &[Modifier]); 12] = [
        (Opcode::Add, &[U32]),
        (Opcode::Sub, &[U32]),
        (Opcode::Mul, &[Lo, U32]),
        (Opcode::And, &[B32]),
        (Opcode::Or, &[B32]),
        (Opcode::Xor, &[B32]),
        (Opcode::Max, &[S32]),
        (Opcode::Min, &[S32]),
        (Opcode::Max, &[U32]),
        (Opcode::Shl, &[B32]),
        (Opcode::Shr, &[U32]),
        (Opcode::Shr, &[S32]),
    ];
    let mut all = Vec::new();
    all.extend((0..values).map(|a| (Opcode::Mov, &[B32][..], vec![a])));
    let pairs = || (0..inputs).flat_map(|a| (0..values).map(move |b| (a, b)));
    for (a, b) in pairs() {
        all.extend(binary.map(|(opcode, modifiers)| (opcode, modifiers, vec![a, b])));
        all.push((Opcode::Sub, &[U32], vec![b, a]));
    }
    for (a, b) in pairs() {
        all.extend((0..values).map(|c| (Opcode::Mad, &[Lo, U32][..], vec![a, b, c])));
    }
    all
}

/// Whether z3 proves a statement: the answer to its negation is `unsat`. `None` without z3.
fn prove(negation: &str) -> Option<bool> {
    let mut z3 = Command::new("z3");
    let mut child = z3
        .args(["-in", "-T:10"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(negation.as_bytes()).ok()?;
    Some(child.wait_with_output().ok()?.stdout.starts_with(b"unsat"))
}

/// The first candidate that has the result of a window, and whether z3 proves it.
fn replacement(
    function: FunctionFacts<'_>,
    window: &[InstId],
    mut formula: Formula,
) -> Option<(Candidate, Option<bool>)> {
    let word = Sort::BitVec(32);
    let (_, result) = formula.results().last()?;
    let inputs: Vec<(Input, SortedTerm)> = formula.script.inputs().to_vec();
    if result.sort() != word || inputs.iter().any(|(_, term)| term.sort() != word) {
        return None;
    }
    let constants = constants(function, window);
    let mut values: Vec<SortedTerm> = inputs.iter().map(|(_, term)| *term).collect();
    values.extend(
        constants
            .iter()
            .map(|bits| formula.script.constant(*bits, word)),
    );
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        u128::from(state >> 32) >> (state >> 20 & 31)
    };
    let mut tests: Vec<(Vec<u128>, u128)> = Vec::new();
    for _ in 0..24 {
        let mut bits: Vec<u128> = inputs.iter().map(|_| random()).collect();
        let mut state = HashMap::new();
        for ((input, _), bits) in inputs.iter().zip(&bits) {
            if let Input::Place(place) = input {
                state.insert(*place, *bits);
            }
        }
        let expected = run(function, window, state)?;
        bits.extend(&constants);
        tests.push((bits, expected));
    }
    for (opcode, modifiers, sources) in candidates(inputs.len(), values.len()) {
        let fits = tests.iter().all(|(bits, expected)| {
            let operands: Vec<u128> = sources.iter().map(|source| bits[*source]).collect();
            let folded = fold(&Operation {
                opcode,
                modifiers,
                operands: &operands,
                carry: None,
                video: Video::default(),
            });
            folded.is_some_and(|folded| folded.value == *expected)
        });
        if !fits {
            continue;
        }
        let terms: Vec<SortedTerm> = sources.iter().map(|source| values[*source]).collect();
        let applied = formula.script.apply(opcode, modifiers, &terms).ok()?;
        let proved = prove(&formula.script.inequality(&[(result, applied.results[0])]));
        if proved != Some(false) {
            return Some(((opcode, modifiers, sources), proved));
        }
    }
    None
}

/// The windows of three instructions of a block, with their terms, of which only the last result is live afterwards.
fn windows(
    function: FunctionFacts<'_>,
    analysis: &FunctionAnalysis<'_>,
    block: &Block,
) -> Vec<([InstId; 3], Formula)> {
    let insts: Vec<(StmtId, InstId)> = block.insts(function.body()).collect();
    let mut windows = Vec::new();
    for &[(_, first), (_, second), (stmt, third)] in insts.array_windows() {
        let window = [first, second, third];
        let Ok(formula) = smt_window(function, &window) else {
            continue;
        };
        let live = analysis.live_after(stmt);
        let is_live = |place: &Place| match place {
            Place::Register(register) => {
                let mut variables = analysis.variables().of(*register);
                variables.any(|variable| live.contains(variable))
            }
            _ => false,
        };
        let places: Vec<Place> = formula.results().map(|(place, _)| place).collect();
        if let [others @ .., last] = &places[..]
            && is_live(last)
            && !others.iter().any(is_live)
        {
            windows.push((window, formula));
        }
    }
    windows
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let module = ptx_parse::parse(&std::fs::read(&path)?).module;
        let facts = ModuleFacts::new(&module);
        for function in module
            .definitions()
            .filter_map(|(id, ..)| facts.function(id))
        {
            let analysis = FunctionAnalysis::new(function);
            for (_, block) in analysis.cfg().blocks() {
                for (window, formula) in windows(function, &analysis, block) {
                    let Some(((opcode, modifiers, sources), proved)) =
                        replacement(function, &window, formula)
                    else {
                        continue;
                    };
                    let words: String = modifiers.iter().map(|modifier| modifier.text()).collect();
                    println!(
                        "{path}: instruction {}: {}{words} of {} sources, proved: {proved:?}",
                        window[2].index(),
                        opcode.text(),
                        sources.len()
                    );
                }
            }
        }
    }
    Ok(())
}
