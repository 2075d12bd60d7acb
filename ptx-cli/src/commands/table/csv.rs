//! Rows as comma-separated values, as RFC 4180 describes them.

use anyhow::Result;
use ptx_table::{RecordBatch, SchemaRef};

use super::json::{Column, comma, raw};

/// Appends the line with the names of the columns.
pub(super) fn header(schema: &SchemaRef, out: &mut Vec<u8>) {
    let mut first = true;
    for field in schema.fields() {
        comma(out, &mut first);
        text(out, field.name());
    }
    raw(out, "\n");
}

/// Appends a line for each row. No value is an empty field, an empty text is `""`, and a list is a field with JSON.
pub(super) fn write(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
    let columns = batch
        .columns()
        .iter()
        .map(Column::new)
        .collect::<Result<Vec<_>>>()?;
    let mut list = Vec::new();
    for row in 0..batch.num_rows() {
        let mut first = true;
        for column in &columns {
            comma(out, &mut first);
            if column.is_null(row) {
                continue;
            }
            if let Some(word) = column.text(row) {
                text(out, word);
            } else if column.is_list() {
                list.clear();
                column.write(row, &mut list);
                text(out, &String::from_utf8_lossy(&list));
            } else {
                column.write(row, out);
            }
        }
        raw(out, "\n");
    }
    Ok(())
}

/// Whether a spreadsheet would evaluate a text as a formula. Signed numbers are not formulas.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err()
}

/// Appends a text, in quotes if it has to be. A formula gets a `'` before it, which makes it a text.
fn text(out: &mut Vec<u8>, text: &str) {
    if is_formula(text) {
        return quoted(out, &format!("'{text}"));
    }
    quoted(out, text);
}

fn quoted(out: &mut Vec<u8>, text: &str) {
    let is_special = text
        .bytes()
        .any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'));
    if !text.is_empty() && !is_special {
        return raw(out, text);
    }
    out.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use ptx_table::{Scan, ScanOptions, Source, TableName};

    /// Names of files and kernels are chosen by others.
    #[test]
    fn formulas_are_texts() {
        let written = |text: &str| {
            let mut out = Vec::new();
            super::text(&mut out, text);
            String::from_utf8(out).unwrap()
        };
        for (text, expected) in [
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("=1,2", "\"'=1,2\""),
            ("@SUM(1)", "'@SUM(1)"),
            ("+cmd", "'+cmd"),
            ("-x", "'-x"),
            ("\t=1", "'\t=1"),
            ("\r=1", "\"'\r=1\""),
            ("-1", "-1"),
            ("+1.5e3", "+1.5e3"),
            ("a=b", "a=b"),
            ("%r1", "%r1"),
        ] {
            assert_eq!(written(text), expected);
        }
    }

    #[test]
    fn fields_are_in_quotes_where_they_have_to_be() {
        let text = ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 %r<3>; add.s32 %r1, %r2,\n4; ret; }\n";
        let names = [
            "file",
            "loop_header",
            "mnemonic",
            "operands",
            "barrier",
            "start",
            "text",
        ];
        let options = ScanOptions::new(&[TableName::Instructions]);
        let options = options.columns(TableName::Instructions, &names).unwrap();
        let mut out = Vec::new();
        super::header(&options.tables()[0].1, &mut out);
        let source = Source::Bytes("a \"b\".ptx".to_owned(), text.into());
        for batch in Scan::new([source], &options) {
            super::write(&batch.unwrap().1, &mut out).unwrap();
        }
        let wanted = "file,start,loop_header,mnemonic,operands,barrier,text\n\
            \"a \"\"b\"\".ptx\",57,,add.s32,\"[\"\"%r1\"\",\"\"%r2\"\",\"\"4\"\"]\",false,\"add.s32 %r1, %r2,\n4;\"\n\
            \"a \"\"b\"\".ptx\",78,,ret,[],false,ret;\n";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
        out = Vec::new();
        super::text(&mut out, "");
        assert_eq!(out, b"\"\"");
    }
}
