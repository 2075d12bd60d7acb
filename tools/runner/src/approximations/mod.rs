//! Files of the results of approximate instructions for all inputs: recorded on a device, compressed, and read again.
//!
//! `README.md` describes the files.

mod domain;
mod exact;
mod file;
mod form;
mod record;
mod runs;
mod table;

pub use form::Approximation;
pub use record::record;
pub use table::{Header, Table};
