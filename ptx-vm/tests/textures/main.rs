//! Textures and surfaces against the formulas of the CUDA programming guide, written as slow code.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")] // tests

mod addressing;
mod cubes;
mod destroyed;
mod formats;
mod kernels;
mod levels;
mod parts;
mod properties;
mod reads;
mod reference;
mod surfaces;
