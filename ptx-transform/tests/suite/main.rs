//! Tests of the crate in one program, which builds faster than one for each file.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod addresses;
mod behavior;
#[path = "../../../ptx-vm/tests/programs/case.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod case;
#[path = "../../../ptx-vm/tests/programs/compare.rs"]
mod compare;
#[path = "common/corpus.rs"]
mod corpus;
mod edited;
#[path = "common/edits.rs"]
mod edits;
mod extract;
#[path = "../../../ptx-print/tests/common/corpus.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod files;
mod instrument;
mod link;
#[path = "../../../ptx-vm/tests/programs/machine.rs"]
mod machine;
mod names;
#[path = "../../../ptx-vm/tests/common/observe.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod observe;
mod preheader;
#[path = "../../../ptx-vm/tests/programs/run.rs"]
mod run;
#[path = "../../../ptx-print/tests/common/sample.rs"]
mod sample;
