//! Tables of PTX files as Arrow record batches, for databases and data frames.
//!
//! [`Scan`] reads files, directories and the PTX in binary files, several at a time and in constant memory. [`TableName`] lists the
//! tables and their columns. `docs/scale.md` has examples.
#![forbid(unsafe_code)]

mod batch;
mod column;
mod context;
mod input;
mod output;
mod rows;
mod scan;
mod table;
mod table_builders;

pub use arrow_array::RecordBatch;
pub use arrow_schema::{ArrowError, SchemaRef};
pub use input::Source;
pub use scan::{Scan, ScanOptions};
pub use table::{ColumnInfo, TableName, UnknownTable, page};
