//! A walk through the libraries: each public function is called by some test, example or example of the documentation. Short scenes
//! here call what nothing else does.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod analysis;
mod build;
mod ir;
mod isa;
mod listed;
mod queries;
mod textures;
mod values;
