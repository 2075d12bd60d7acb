//! Every kernel of the corpus runs, or ends with an error that is documented.

use crate::{files, observe};
use ptx_ir::FunctionKind;
use ptx_vm::StopReason;

/// Steps of a launch.
const STEPS: u64 = 2000;

/// Whether a kernel may end in this way: with what the arguments, which fit most kernels, lead to, or with an action that is not performed.
fn is_documented(reason: &StopReason) -> bool {
    match reason {
        StopReason::Unsupported(why) => why.starts_with("it "),
        reason => !matches!(reason, StopReason::NoKernel),
    }
}

/// Files of names of a range, such as `t0` of `t<1>`, as addresses and labels: these are not supported.
const RANGES: [&str; 2] = ["hand/decl_spaces.ptx", "hand/func_indirect.ptx"];

/// Files up to this size are tested.
const MOST_BYTES: usize = 200_000;

#[test]
fn kernels_of_the_corpus_run() {
    let mut wrong = Vec::new();
    for entry in files::entries(&files::own()) {
        let source = entry.read();
        let chosen = entry.verdict == "ok" && source.len() <= MOST_BYTES;
        if !chosen || RANGES.contains(&&*entry.name) {
            continue;
        }
        let module = ptx_parse::parse(&source).module;
        let kernels = module.definitions();
        let kernels = kernels.filter(|(_, f, _)| f.kind == FunctionKind::Entry);
        for (_, function, _) in kernels {
            let kernel = module.name(function.name);
            let seen = observe::observe_within(&module, kernel, 2, STEPS);
            if let Some(reason) = seen.failed.filter(|reason| !is_documented(reason)) {
                wrong.push(format!("{}: {kernel}: {reason}", entry.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
