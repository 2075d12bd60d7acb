//! Warnings by kind, and comments that turn them off.

mod allowed;
pub mod kinds;

pub use allowed::Allowed;
