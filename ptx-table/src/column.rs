//! Columns of tables: the name, the type, the computation of the values and a description.

use arrow_schema::{DataType, Field};

/// A table: its columns, and the type of the rows from which their values are computed.
pub(crate) trait Table: Sized + 'static {
    /// The type of the rows.
    type Row<'a>;

    /// The columns, in order.
    const COLUMNS: &'static [Column<Self>];
}

/// A column. The schema, the list in `docs/scale.md` and the values all come from this description.
pub(crate) struct Column<T: Table> {
    pub(crate) name: &'static str,
    /// Whether a row may have no value.
    pub(crate) nullable: bool,
    /// Whether the column is only computed on request.
    pub(crate) on_request: bool,
    pub(crate) value: Value<T>,
    /// A sentence that describes the values.
    pub(crate) text: &'static str,
}

/// Creates a column with a value in each row.
pub(crate) const fn column<T: Table>(
    name: &'static str,
    value: Value<T>,
    text: &'static str,
) -> Column<T> {
    Column {
        name,
        nullable: false,
        on_request: false,
        value,
        text,
    }
}

/// Creates a column that may have no value in a row.
pub(crate) const fn optional<T: Table>(
    name: &'static str,
    value: Value<T>,
    text: &'static str,
) -> Column<T> {
    Column {
        nullable: true,
        ..column(name, value, text)
    }
}

/// Creates a column that may have no value in a row, and that requires an analysis that no other column needs.
pub(crate) const fn on_request<T: Table>(
    name: &'static str,
    value: Value<T>,
    text: &'static str,
) -> Column<T> {
    Column {
        on_request: true,
        ..optional(name, value, text)
    }
}

/// Receives the texts of a value.
pub(crate) type TextSink<'t> = &'t mut dyn FnMut(&str);

/// Receives the numbers of a value.
pub(crate) type NumberSink<'n> = &'n mut dyn FnMut(u32);

/// The type of a column, and the function that computes the value of a row.
pub(crate) enum Value<T: Table> {
    /// A number below 2^31, such as a line.
    Int(fn(&T::Row<'_>) -> Option<u32>),
    Long(fn(&T::Row<'_>) -> Option<i64>),
    Flag(fn(&T::Row<'_>) -> Option<bool>),
    /// A text that many rows have in common.
    Word(for<'r, 'a> fn(&'r T::Row<'a>) -> Option<&'r str>),
    /// A text that few rows have in common. Without a call of the sink, the row has no value; only the first call counts.
    Text(fn(&T::Row<'_>, TextSink<'_>)),
    /// A list of texts. The function returns false if the row has no value.
    TextList(fn(&T::Row<'_>, TextSink<'_>) -> bool),
    /// A list of numbers. The function returns false if the row has no value.
    IntList(fn(&T::Row<'_>, NumberSink<'_>) -> bool),
}

impl<T: Table> Value<T> {
    /// The type of the column.
    pub(crate) fn data_type(&self) -> DataType {
        let list_of = |element| DataType::LargeList(Field::new_list_field(element, true).into());
        match self {
            Self::Int(_) => DataType::Int32,
            Self::Long(_) => DataType::Int64,
            Self::Flag(_) => DataType::Boolean,
            Self::Word(_) => {
                DataType::Dictionary(DataType::Int32.into(), DataType::LargeUtf8.into())
            }
            Self::Text(_) => DataType::LargeUtf8,
            Self::TextList(_) => list_of(DataType::LargeUtf8),
            Self::IntList(_) => list_of(DataType::Int32),
        }
    }

    /// The name of the type in the documentation.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Int(_) => "int32",
            Self::Long(_) => "int64",
            Self::Flag(_) => "bool",
            Self::Word(_) => "string (dictionary)",
            Self::Text(_) => "string",
            Self::TextList(_) => "list of strings",
            Self::IntList(_) => "list of int32",
        }
    }
}
