//! Rows as JSON objects.

use anyhow::Result;
use ptx_report::json_text::{comma, raw, string};
use ptx_table::RecordBatch;

use super::values::Column;

/// Appends an object for each row, and a newline after it.
pub(super) fn write(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
    let mut columns = Vec::new();
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        columns.push((field.name().as_str(), Column::new(column)?));
    }
    for row in 0..batch.num_rows() {
        out.push(b'{');
        let mut first = true;
        for (name, column) in &columns {
            comma(out, &mut first);
            string(out, name);
            out.push(b':');
            column.write(row, out);
        }
        raw(out, "}\n");
    }
    Ok(())
}
