//! Tests of the generator of the tables.
#![allow(clippy::unwrap_used, reason = "tests")]

mod example;
mod mistakes;
mod naming;
