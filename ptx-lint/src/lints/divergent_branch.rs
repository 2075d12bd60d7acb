//! `divergent-branch`: branches and calls with `.uni` whose condition or target differs between threads of a warp.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::facts::{Callees, Flow, Targets};

use crate::context::{FunctionContext, Reached};
use crate::executing::ExecutingThreads;
use crate::{Finding, Lint};

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    for inst in cx.instructions() {
        if !inst.facts.is_uniform() || inst.facts.flow() == Flow::Next {
            continue;
        }
        let mnemonic = cx.mnemonic(inst.inst);
        let finding = match divergence(cx, &inst) {
            Some(Divided::Certainly { threads }) => {
                let message = format!(
                    "threads {} and {} of a warp do not execute `{mnemonic}` alike, although `.uni` states that all active threads of a warp do",
                    threads[0], threads[1]
                );
                cx.finding(
                    Lint::DivergentBranch,
                    Certainty::Definite,
                    inst.stmt,
                    message,
                )
            }
            Some(Divided::Perhaps) => {
                let message = format!(
                    "threads of a warp may not execute `{mnemonic}` alike, although `.uni` states that all active threads of a warp do"
                );
                cx.finding(
                    Lint::DivergentBranch,
                    Certainty::Possible,
                    inst.stmt,
                    message,
                )
            }
            None => continue,
        };
        findings.push(finding.with_help("remove `.uni`"));
    }
}

/// The threads of a warp are divided by an instruction.
enum Divided {
    /// These threads are.
    Certainly { threads: [u32; 2] },
    /// Some may be.
    Perhaps,
}

/// Returns how an instruction with `.uni` divides the threads of a warp; `None` if it does not, or if nothing suggests it.
fn divergence(cx: &FunctionContext<'_>, inst: &Reached<'_>) -> Option<Divided> {
    if inst.facts.guard().is_none() {
        return target_differs(cx, inst).then_some(Divided::Perhaps);
    }
    let (mut threads, sets) = cx.threads()?;
    let Some(guard) = threads.guard(inst.stmt, &inst.facts) else {
        let varies = cx.likely()?.guard(inst.stmt) > Uniformity::Warp;
        return varies.then_some(Divided::Perhaps);
    };
    let reaching = ExecutingThreads::reaching(cx, &mut threads, sets, inst.stmt)?;
    let [first, second] = reaching.differing_in_warp(&threads, |sample| guard.get(sample))?;
    let divided = [first, second].map(|sample| threads.samples()[sample]);
    Some(if reaching.is_exact && threads.shape().is_required {
        Divided::Certainly { threads: divided }
    } else {
        Divided::Perhaps
    })
}

/// Returns `true` if the target of a branch or call is a register that may differ between the threads of a warp.
fn target_differs(cx: &FunctionContext<'_>, inst: &Reached<'_>) -> bool {
    let is_selected = matches!(inst.facts.targets(), Targets::List(_))
        || !matches!(inst.facts.callees(), None | Some(Callees::Function(_)));
    let (Some(ssa), Some(varying), true) = (cx.ssa(), cx.varying(), is_selected) else {
        return false;
    };
    ssa.uses(inst.stmt)
        .iter()
        .any(|read| varying.get(read.value.as_u32() as usize) == Some(&true))
}
