//! A language server for PTX, after the Language Server Protocol 3.17.
//!
//! [`run`] serves a client on two streams. [`Server`] takes and returns messages, without threads and streams.
//!
//! A document keeps its module and its diagnostics. After a change inside of the body of a function, only that function is parsed
//! ([`ptx_parse::Incremental`]) and checked ([`ptx_verify::Checked`]) again, and the functions that depend on the change are linted again
//! ([`ptx_lint::LintSession`]). Each feature is a function of a document and an offset or a range, in a separate file.

mod analysis_text;
mod call_hierarchy;
mod code_lens;
mod completion;
mod custom;
mod diagnostics;
mod document;
mod documents;
mod explanation;
mod folding;
mod formatting;
mod hover;
mod inlay_hints;
mod jobs;
mod machine_code;
mod message;
mod names;
mod place;
mod requests;
mod rewrites;
mod semantic_tokens;
mod server;
mod symbols;
mod text;
mod transport;

pub use machine_code::{Assemble, ServerOptions};
pub use server::Server;
pub use transport::{run, run_with};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
