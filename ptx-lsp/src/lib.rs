//! A language server for PTX, after the Language Server Protocol 3.17.
//!
//! [`run`] serves a client on two streams. [`Server`] takes messages and gives messages, without threads and streams.
//!
//! A [document](document) keeps its module and its diagnostics. After a change inside of the body of a function, only that function
//! is parsed ([`ptx_parse::Incremental`]) and checked ([`ptx_verify::Checked`]) again. Each feature is a function of a document and
//! a place in it, in its own file.

mod code_action;
mod diagnostics;
mod document;
mod formatting;
mod message;
mod requests;
mod server;
mod text;
mod transport;

pub use server::Server;
pub use transport::run;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
