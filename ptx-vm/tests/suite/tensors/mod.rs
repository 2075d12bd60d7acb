//! Tensor maps, and copies of parts of tensors.

mod columns;
mod definition;
mod launch;
mod layouts;
mod maps;
mod mistakes;
mod packed;
mod reductions;
mod tiles;
