//! Columns: name, type, values and description.

use arrow_schema::{DataType, Field};

/// A table: the columns, and what they are computed from.
pub(crate) trait Rows: Sized + 'static {
    /// The input from which the values of a row are computed.
    type Row<'a>;

    /// The columns, in order.
    const COLUMNS: &'static [Column<Self>];
}

/// A column. The schema, the list in `docs/scale.md` and the values are made from it.
pub(crate) struct Column<T: Rows> {
    pub(crate) name: &'static str,
    /// Whether a row may have no value.
    pub(crate) nullable: bool,
    /// Whether it is only computed if it is asked for.
    pub(crate) on_request: bool,
    pub(crate) value: Value<T>,
    /// What the values are, as a sentence.
    pub(crate) text: &'static str,
}

/// A column with a value in each row.
pub(crate) const fn column<T: Rows>(
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

/// A column that may have no value in a row.
pub(crate) const fn optional<T: Rows>(
    name: &'static str,
    value: Value<T>,
    text: &'static str,
) -> Column<T> {
    Column {
        nullable: true,
        ..column(name, value, text)
    }
}

/// A column that may have no value in a row, and takes an analysis that no other column needs.
pub(crate) const fn on_request<T: Rows>(
    name: &'static str,
    value: Value<T>,
    text: &'static str,
) -> Column<T> {
    Column {
        on_request: true,
        ..optional(name, value, text)
    }
}

/// Gets the texts of a value.
pub(crate) type Texts<'t> = &'t mut dyn FnMut(&str);

/// Gets the numbers of a value.
pub(crate) type Numbers<'n> = &'n mut dyn FnMut(u32);

/// How the value of a row is computed. The functions with a list say whether there is one.
pub(crate) enum Value<T: Rows> {
    /// A number below 2^31, such as a line.
    Int(fn(&T::Row<'_>) -> Option<u32>),
    Long(fn(&T::Row<'_>) -> Option<i64>),
    Flag(fn(&T::Row<'_>) -> Option<bool>),
    /// A text that many rows share.
    Word(for<'r, 'a> fn(&'r T::Row<'a>) -> Option<&'r str>),
    /// At most one text.
    Text(fn(&T::Row<'_>, Texts<'_>)),
    TextList(fn(&T::Row<'_>, Texts<'_>) -> bool),
    IntList(fn(&T::Row<'_>, Numbers<'_>) -> bool),
}

impl<T: Rows> Value<T> {
    /// The type of the column.
    pub(crate) fn data_type(&self) -> DataType {
        let list = |of| DataType::LargeList(Field::new_list_field(of, true).into());
        match self {
            Self::Int(_) => DataType::Int32,
            Self::Long(_) => DataType::Int64,
            Self::Flag(_) => DataType::Boolean,
            Self::Word(_) => {
                DataType::Dictionary(DataType::Int32.into(), DataType::LargeUtf8.into())
            }
            Self::Text(_) => DataType::LargeUtf8,
            Self::TextList(_) => list(DataType::LargeUtf8),
            Self::IntList(_) => list(DataType::Int32),
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
