//! A language server for PTX, after the Language Server Protocol 3.17.
//!
//! [`run`] serves a client on two streams. [`Server`] takes messages and gives messages, without threads and streams.
//!
//! A document keeps its module and its diagnostics. After a change inside of the body of a function, only that function
//! is parsed ([`ptx_parse::Incremental`]) and checked ([`ptx_verify::Checked`]) again, and linted with others to which the change makes a difference
//! ([`ptx_lint::LintSession`]). Each feature is a function of a document and
//! a place in it, in its own file.

mod accesses;
mod call_hierarchy;
mod code_action;
mod code_lens;
mod completion;
mod custom;
mod diagnostics;
mod document;
mod explanation;
mod folding;
mod formatting;
mod hover;
mod inlay_hints;
mod jobs;
mod lints;
mod message;
mod names;
mod opened;
mod place;
mod register_value;
mod rename;
mod requests;
mod rewrites;
mod semantic_tokens;
mod server;
mod settings;
mod symbols;
mod text;
mod transport;

pub use server::Server;
pub use transport::run;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
