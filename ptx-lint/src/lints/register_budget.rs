//! `register-budget`: instructions that change the number of registers of a warp, without a bound on the registers of the kernel, in kernels where
//! they have no effect, and requests for more registers than the CTA has.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::threads::ThreadValues;
use ptx_analysis::values::LaunchBounds;
use ptx_ir::SymbolKind;
use ptx_ir::facts::Callees;
use ptx_isa::{Action, Directive, Role};

use crate::context::{FunctionContext, Reached};
use crate::declarations::symbol_name;
use crate::executing::ExecutingThreads;
use crate::paths::Marked;
use crate::{Finding, Lint};

/// The registers of a multiprocessor, on all targets with these instructions.
const REGISTERS: u64 = 1 << 16;
/// The registers of a thread are a multiple of this number, and at most the greatest number that an instruction has.
const STEP: u64 = 8;
const MOST_OF_THREAD: u64 = 255;
/// The threads of a warp.
const LANES: u32 = 32;
/// The functions of the driver that a module may declare.
const SYSTEM_FUNCTIONS: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// A change of the number of registers of the threads of a warp.
struct Change<'c> {
    inst: Reached<'c>,
    /// The new number of registers.
    count: u64,
    is_request: bool,
}

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let changes: Vec<Change<'_>> = cx.instructions().filter_map(|i| change(cx, &i)).collect();
    if changes.is_empty() || !cx.is_kernel() {
        return;
    }
    if let Some(finding) = without_effect(cx, &changes) {
        findings.push(finding);
        return;
    }
    let Some(entry) = registers_at_entry(cx) else {
        return;
    };
    for change in &changes {
        findings.extend(wrong_direction(cx, change, entry));
    }
    findings.extend(exhausted_pool(cx, &changes, entry));
}

fn change<'c>(cx: &FunctionContext<'c>, inst: &Reached<'c>) -> Option<Change<'c>> {
    let is_request = match inst.facts.action()? {
        Action::RegisterRequest => true,
        Action::RegisterRelease => false,
        _ => return None,
    };
    let count = inst
        .facts
        .operands()
        .find(|operand| operand.role == Role::Imm)
        .and_then(|operand| cx.integer(operand.operand))?;
    Some(Change {
        inst: *inst,
        count: u64::try_from(count).ok()?,
        is_request,
    })
}

/// Returns the finding about a kernel in which the instructions have no effect. The first instruction is reported, the others have the same cause.
/// A missing bound is possible only, since options of `ptxas` and of the driver give one as well.
fn without_effect(cx: &FunctionContext<'_>, changes: &[Change<'_>]) -> Option<Finding> {
    let first = &changes.first()?.inst;
    let mnemonic = cx.mnemonic(first.inst);
    let finding = |certainty, message, help| {
        let mut finding = cx
            .finding(Lint::RegisterBudget, certainty, first.stmt, message)
            .with_help(help);
        for change in &changes[1..] {
            finding.repeat(cx.span(change.inst.stmt));
        }
        finding
    };
    if registers_at_entry(cx).is_none() && !has_register_bound(cx) {
        let message = format!(
            "`{mnemonic}` may have no effect: no directive of the kernel determines the number of registers with which its threads start"
        );
        return Some(finding(
            Certainty::Possible,
            message,
            "add `.maxnreg`, or `.minnctapersm` together with `.maxntid` or `.reqntid`; `ptxas` ignores the instruction otherwise, unless its option `-maxrregcount` is given",
        ));
    }
    let call = cx
        .instructions()
        .find(|inst| calls_unknown_code(cx, inst))?;
    let message = format!(
        "`{mnemonic}` has no effect in a kernel that calls functions which are not part of the module"
    );
    Some(
        finding(
            Certainty::Definite,
            message,
            "inline the function, or define it in this module: `ptxas` ignores the instruction to keep the registers of the called function",
        )
        .with_label(cx.span(call.stmt), "the function is called here"),
    )
}

/// Returns `true` if an instruction calls a function that this module does not define, or any function through its address. Functions of the driver,
/// which are known by their names, do not count.
fn calls_unknown_code(cx: &FunctionContext<'_>, inst: &Reached<'_>) -> bool {
    match inst.facts.callees() {
        None => false,
        Some(Callees::Function(callee)) => {
            let symbol = cx.module().symbols().get(callee);
            match symbol.map(|symbol| symbol.kind) {
                Some(SymbolKind::Function(id)) => {
                    !cx.module().definitions().any(|(other, ..)| other == id)
                        && !SYSTEM_FUNCTIONS.contains(&symbol_name(cx.module(), callee).as_ref())
                }
                _ => false,
            }
        }
        Some(_) => true,
    }
}

fn has_register_bound(cx: &FunctionContext<'_>) -> bool {
    cx.directive(Directive::Maxnreg).is_some()
        || cx.directive(Directive::Minnctapersm).is_some() && has_thread_bound(cx)
}

fn has_thread_bound(cx: &FunctionContext<'_>) -> bool {
    cx.directive(Directive::Reqntid).is_some() || cx.directive(Directive::Maxntid).is_some()
}

/// Returns the greatest number of registers with which the threads of the kernel may start.
fn registers_at_entry(cx: &FunctionContext<'_>) -> Option<u64> {
    if let Some(count) = cx.directive(Directive::Maxnreg) {
        return Some(count);
    }
    let ctas = cx
        .directive(Directive::Minnctapersm)
        .filter(|_| has_thread_bound(cx))?;
    let threads = u64::from(LaunchBounds::of(cx.facts()).most).checked_mul(ctas.max(1))?;
    let count = REGISTERS.checked_div(threads)?;
    Some((count - count % STEP).min(MOST_OF_THREAD))
}

/// Returns the finding about a release that does not lower the number of registers of the kernel, or a request that does not raise it.
fn wrong_direction(cx: &FunctionContext<'_>, change: &Change<'_>, entry: u64) -> Option<Finding> {
    // With launch bounds alone, `ptxas` may choose a lower number.
    cx.directive(Directive::Maxnreg)?;
    let opposite = if change.is_request {
        Action::RegisterRelease
    } else {
        Action::RegisterRequest
    };
    let opposites = Marked::new(cx, |_, facts| facts.action() == Some(opposite));
    let follows_opposite = !opposites.is_empty() && !opposites.is_before_all(cx, change.inst.stmt);
    let is_right = if change.is_request {
        change.count >= entry
    } else {
        change.count <= entry
    };
    if follows_opposite || is_right {
        return None;
    }
    let (change_text, verb, other_verb, relation) = if change.is_request {
        ("requests registers up to", "request", "release", "least")
    } else {
        ("releases registers down to", "release", "request", "most")
    };
    let message = format!(
        "`{}` {change_text} {}, but the threads of the kernel start with {entry}",
        cx.mnemonic(change.inst.inst),
        change.count
    );
    let finding = cx.finding(
        Lint::RegisterBudget,
        Certainty::Definite,
        change.inst.stmt,
        message,
    );
    Some(finding.with_help(format!(
        "{verb} registers with a number of at {relation} {entry}, or {other_verb} them"
    )))
}

/// Returns the finding about requests for more registers than other warps release: the request never returns.
fn exhausted_pool(cx: &FunctionContext<'_>, changes: &[Change<'_>], entry: u64) -> Option<Finding> {
    let bounds = LaunchBounds::of(cx.facts());
    let (size, is_required) = match bounds.threads {
        Some(threads) => (threads.into_iter().map(u64::from).product(), true),
        None if has_thread_bound(cx) => (u64::from(bounds.most), false),
        None => return None,
    };
    let (mut threads, sets) = cx.threads()?;
    let executing: Vec<ExecutingThreads> = changes
        .iter()
        .map(|change| ExecutingThreads::of(cx, &mut threads, sets, &change.inst))
        .collect::<Option<_>>()?;
    let ctas = cx.directive(Directive::Minnctapersm).unwrap_or(1).max(1);
    // What no thread has at the start may belong to the CTA as well.
    let mut pool = (REGISTERS / ctas).saturating_sub(size.saturating_mul(entry));
    let mut requested = 0;
    for warp in warps(&threads) {
        let of_warp = || {
            let both = changes.iter().zip(&executing);
            both.filter(|(_, executing)| executing.set & warp.set != 0)
                .map(|(change, _)| change)
        };
        let (releases, requests) = (
            of_warp()
                .filter(|change| !change.is_request)
                .map(|c| c.count)
                .min(),
            of_warp()
                .filter(|change| change.is_request)
                .map(|c| c.count)
                .max(),
        );
        match (releases, requests) {
            (None, Some(count)) => requested += warp.threads * count.saturating_sub(entry),
            // Registers that a warp requests and releases again serve other warps.
            (Some(count), _) => pool += warp.threads * entry.saturating_sub(count),
            (None, None) => {}
        }
    }
    if requested <= pool {
        return None;
    }
    let first = changes.iter().find(|change| change.is_request)?;
    let is_exact = is_required && executing.iter().all(|executing| executing.is_exact);
    let (certainty, verb) = if is_exact {
        (Certainty::Definite, "waits")
    } else {
        (Certainty::Possible, "may wait")
    };
    let mnemonic = cx.mnemonic(first.inst.inst);
    let message = format!(
        "`{mnemonic}` {verb} for ever: the warps of the CTA request {requested} registers in addition to the {entry} of each thread, but at most {pool} are released or free"
    );
    let mut finding = cx
        .finding(Lint::RegisterBudget, certainty, first.inst.stmt, message)
        .with_help("request fewer registers, or release more of them in other warps");
    for change in changes.iter().filter(|c| c.inst.stmt != first.inst.stmt) {
        if change.is_request {
            finding.repeat(cx.span(change.inst.stmt));
        } else {
            finding = finding.with_label(cx.span(change.inst.stmt), "registers are released here");
        }
    }
    Some(finding)
}

/// A warp of the CTA.
struct Warp {
    /// Its sample threads.
    set: u128,
    threads: u64,
}

/// Returns the warps of the CTA. Each warp has sample threads.
fn warps(threads: &ThreadValues<'_>) -> Vec<Warp> {
    let size: u32 = threads.shape().threads.into_iter().product();
    let mut warps: Vec<Warp> = (0..size.div_ceil(LANES))
        .map(|warp| Warp {
            set: 0,
            threads: u64::from(LANES.min(size - warp * LANES)),
        })
        .collect();
    for (sample, thread) in threads.samples().iter().enumerate() {
        if let Some(warp) = warps.get_mut((thread / LANES) as usize) {
            warp.set |= 1 << sample;
        }
    }
    warps
}
