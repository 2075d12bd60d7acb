//! Warnings by kind, and comments that suppress them.

mod allowed;
pub mod kinds;

pub use allowed::Allowed;
