//! Call graphs.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_dataflow::calls::{CallGraph, Target};
use ptx_ir::facts::ModuleFacts;

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// A kernel that calls `functions` functions through one table, `calls` times.
fn through_a_table(functions: usize, calls: usize) -> String {
    let all = |one: &dyn Fn(usize) -> String| (0..functions).map(one).collect::<Vec<_>>();
    format!(
        "{HEADER}{}.entry k() {{ .reg .u64 %d; mov.u64 %d, f0;\nT: .calltargets {};\n{}ret; }}\n",
        all(&|i| format!(".func f{i}() {{ ret; }}\n")).concat(),
        all(&|i| format!("f{i}")).join(", "),
        "call %d, T;\n".repeat(calls)
    )
}

#[test]
fn each_call_through_a_table_reaches_all_of_its_functions() {
    let text = format!(
        "{HEADER}.extern .func e();\n.func f() {{ ret; }}\n.func g() {{ call f; ret; }}\n\
         .entry k() {{ .reg .u64 %d; mov.u64 %d, g;\nT: .calltargets g, f, e;\n\
         call %d, T; call %d, T; call f; P: .callprototype _(); call %d, P; ret; }}\n"
    );
    let module = ptx_parse::parse_str(&text).module;
    let [e, f, g, k] = ["e", "f", "g", "k"].map(|name| module.function(name).unwrap());
    let calls = CallGraph::new(&ModuleFacts::new(&module));
    let of_k: Vec<Target> = calls.calls_of(k).map(|c| c.to).collect();
    let list = [g, f, e].map(Target::Function);
    let rest = [Target::Function(f), Target::AddressTaken];
    assert_eq!(of_k, [&list[..], &list, &rest].concat());
    assert_eq!(calls.calls().count(), 1 + of_k.len());
    let sorted = [e, f, g].map(Target::Function);
    assert_eq!(
        calls.targets(k),
        [&sorted[..], &[Target::AddressTaken]].concat()
    );
    assert_eq!(calls.targets(g), [Target::Function(f)]);
    assert_eq!(calls.callees(k), [e, f, g]);
    assert_eq!(calls.callers(f), [g, k]);
    let insts: Vec<_> = calls.calls_of(k).map(|c| c.inst).collect();
    assert!(insts[0] == insts[2] && insts[2] < insts[3]);
}

/// A list of all calls would have 400 million entries.
#[test]
fn calls_share_the_functions_of_a_table() {
    const N: usize = 20_000;
    let module = ptx_parse::parse_str(&through_a_table(N, N)).module;
    let k = module.function("k").unwrap();
    let calls = CallGraph::new(&ModuleFacts::new(&module));
    assert_eq!(calls.targets(k).len(), N);
    assert_eq!(
        calls.calls_of(k).take(N + 1).last().unwrap().to,
        calls.calls_of(k).next().unwrap().to
    );
}

/// By the definition: a function is called if it has callers, and those that reach it are its callers and theirs.
#[test]
fn functions_that_reach_others_are_found_through_addresses() {
    let text = format!(
        "{HEADER}.func leaf() {{ ret; }}\n.func taken() {{ call leaf; ret; }}\n.func unused() {{ ret; }}\n\
         .func self() {{ call self; ret; }}\n.func direct() {{ call leaf; ret; }}\n\
         .entry k() {{ .reg .u64 %d; mov.u64 %d, taken;\nP: .callprototype _();\ncall %d, P; ret; }}\n.entry l() {{ call direct; ret; }}\n"
    );
    let module = ptx_parse::parse_str(&text).module;
    let calls = CallGraph::new(&ModuleFacts::new(&module));
    let ids = || module.definitions().map(|(id, ..)| id);
    assert_eq!(ids().filter(|id| calls.is_called(*id)).count(), 4);
    for id in ids() {
        assert_eq!(calls.is_called(id), !calls.callers(id).is_empty());
        let mut reaching = vec![id];
        let mut at = 0;
        while let Some(next) = reaching.get(at).copied() {
            let callers = calls.callers(next);
            reaching.extend(callers);
            let mut seen = std::collections::BTreeSet::new();
            reaching.retain(|id| seen.insert(*id));
            at += 1;
        }
        reaching.sort_unstable();
        assert_eq!(calls.reaching([id]), reaching);
    }
    let [leaf, k] = ["leaf", "k"].map(|name| module.function(name).unwrap());
    assert!(calls.reaching([leaf]).contains(&k));
}
