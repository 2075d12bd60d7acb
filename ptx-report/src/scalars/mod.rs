//! Values of scalar types as text.

mod parse;
mod text;

pub use parse::{bytes, name, scalar_type};
pub use text::{plain, text};
