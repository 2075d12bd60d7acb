//! The names of the tables, their schemas and their documentation.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};

use crate::column::Table;
use crate::rows::blocks::Blocks;
use crate::rows::diagnostics::Diagnostics;
use crate::rows::functions::Functions;
use crate::rows::instructions::Instructions;
use crate::rows::lints::Lints;
use crate::rows::loops::Loops;
use crate::rows::memory::Memory;
use crate::rows::modules::Modules;
use crate::rows::requirements::Requirements;

/// A table.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum TableName {
    /// Instructions, and unrecognized statements of functions.
    Instructions,
    /// Memory accesses of instructions.
    Memory,
    /// Basic blocks.
    Blocks,
    /// Natural loops.
    Loops,
    /// Functions with a body.
    Functions,
    /// PTX files, and modules in containers.
    Modules,
    /// Errors and warnings, and files that cannot be read.
    Diagnostics,
    /// Findings of lints.
    Lints,
    /// The lowest targets and PTX versions.
    Requirements,
}

/// A column of a table.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ColumnInfo {
    /// The name.
    pub name: &'static str,
    /// The type, such as `int32` or `list of strings`.
    pub type_name: &'static str,
    /// Whether a row may have no value.
    pub nullable: bool,
    /// Whether it is only computed on request because it requires an analysis that no other column needs.
    pub on_request: bool,
    /// A description of the values.
    pub text: &'static str,
}

/// The error for an unknown table name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownTable(String);

impl fmt::Display for UnknownTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = TableName::ALL.map(TableName::name).join(", ");
        write!(f, "unknown table `{}`, expected one of {names}", self.0)
    }
}

impl std::error::Error for UnknownTable {}

impl FromStr for TableName {
    type Err = UnknownTable;

    fn from_str(name: &str) -> Result<Self, UnknownTable> {
        Self::ALL
            .into_iter()
            .find(|table| table.name() == name)
            .ok_or_else(|| UnknownTable(name.to_owned()))
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TableName {
    /// All tables.
    pub const ALL: [Self; 9] = [
        Self::Instructions,
        Self::Memory,
        Self::Blocks,
        Self::Loops,
        Self::Functions,
        Self::Modules,
        Self::Diagnostics,
        Self::Lints,
        Self::Requirements,
    ];

    /// The name, such as `instructions`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Memory => "memory",
            Self::Blocks => "blocks",
            Self::Loops => "loops",
            Self::Functions => "functions",
            Self::Modules => "modules",
            Self::Diagnostics => "diagnostics",
            Self::Lints => "lints",
            Self::Requirements => "requirements",
        }
    }

    /// A sentence that describes the rows.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Instructions => {
                "A row for each instruction of a function and each unrecognized statement in a function, in text order."
            }
            Self::Memory => "A row for each memory access of an instruction.",
            Self::Blocks => "A row for each basic block.",
            Self::Loops => "A row for each natural loop, outer ones before inner ones.",
            Self::Functions => "A row for each function with a body.",
            Self::Modules => "A row for each PTX file and each PTX module in a container.",
            Self::Diagnostics => {
                "A row for each error and warning of `ptxkit check` without options, including those suppressed by comments, and for each unreadable file or part of a file."
            }
            Self::Lints => {
                "A row for each finding of `ptxkit lint`, including those suppressed by comments, in text order."
            }
            Self::Requirements => {
                "A row for each architecture family on which a module, a function or a feature is legal: the lowest target and the lowest PTX version."
            }
        }
    }

    /// The columns, in order.
    #[must_use]
    pub fn columns(self) -> Vec<ColumnInfo> {
        self.description().columns
    }

    /// The Arrow schema of the default columns.
    ///
    /// ```
    /// use ptx_table::TableName;
    ///
    /// let schema = TableName::Instructions.schema();
    /// assert!(schema.field_with_name("opcode").unwrap().is_nullable());
    /// assert!(schema.field_with_name("uniform").is_err());
    /// assert!(TableName::Instructions.full_schema().field_with_name("uniform").is_ok());
    /// ```
    #[must_use]
    pub fn schema(self) -> SchemaRef {
        let description = self.description();
        let default_fields: Vec<Field> = description
            .columns
            .iter()
            .zip(description.fields)
            .filter(|(column, _)| !column.on_request)
            .map(|(_, field)| field)
            .collect();
        Arc::new(Schema::new(default_fields))
    }

    /// The Arrow schema of all columns.
    #[must_use]
    pub fn full_schema(self) -> SchemaRef {
        Arc::new(Schema::new(self.description().fields))
    }

    fn description(self) -> Description {
        match self {
            Self::Instructions => Description::new::<Instructions>(),
            Self::Memory => Description::new::<Memory>(),
            Self::Blocks => Description::new::<Blocks>(),
            Self::Loops => Description::new::<Loops>(),
            Self::Functions => Description::new::<Functions>(),
            Self::Modules => Description::new::<Modules>(),
            Self::Diagnostics => Description::new::<Diagnostics>(),
            Self::Lints => Description::new::<Lints>(),
            Self::Requirements => Description::new::<Requirements>(),
        }
    }
}

/// The columns of a table for documentation, and as fields of a schema, in the same order.
struct Description {
    columns: Vec<ColumnInfo>,
    fields: Vec<Field>,
}

impl Description {
    fn new<T: Table>() -> Self {
        let (columns, fields) = T::COLUMNS
            .iter()
            .map(|column| {
                let info = ColumnInfo {
                    name: column.name,
                    type_name: column.value.type_name(),
                    nullable: column.nullable,
                    on_request: column.on_request,
                    text: column.text,
                };
                let data_type = column.value.data_type();
                (info, Field::new(column.name, data_type, column.nullable))
            })
            .unzip();
        Self { columns, fields }
    }
}

/// Returns the documentation of the tables and their columns in Markdown, for `docs/scale.md`.
#[must_use]
pub fn page() -> String {
    let mut page = String::new();
    for table in TableName::ALL {
        page += &format!("### `{table}`\n\n{}\n\n", table.text());
        page += "| column | type | meaning |\n|---|---|---|\n";
        for column in table.columns() {
            let null = if column.nullable { ", may be null" } else { "" };
            let on_request = if column.on_request {
                " Only computed on request."
            } else {
                ""
            };
            let ColumnInfo {
                name,
                type_name,
                text,
                ..
            } = column;
            page += &format!("| `{name}` | {type_name}{null} | {text}{on_request} |\n");
        }
        page.push('\n');
    }
    page
}
