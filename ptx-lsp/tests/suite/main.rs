//! Tests of the crate in one program, which builds faster than one for each file.

mod client;
mod completion;
mod custom;
mod custom_run;
mod custom_threads;
mod diagnostics;
mod features;
mod random;
mod rewrites;
