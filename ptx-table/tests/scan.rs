//! Scans: order, batches, errors, and the documentation of the columns.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use test_support::sample;

use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use ptx_table::{Scan, ScanOptions, Source, TableName};
use sample::sample;

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The rows of each table as text, with the number of batches.
fn rows(sources: Vec<Source>, options: &ScanOptions) -> Vec<(TableName, usize, String)> {
    let mut found: Vec<(TableName, usize, String)> = Vec::new();
    for (table, _) in options.tables() {
        found.push((*table, 0, String::new()));
    }
    for batch in Scan::new(sources, options) {
        let (table, batch) = batch.unwrap();
        let (_, count, text) = found.iter_mut().find(|(of, ..)| *of == table).unwrap();
        *count += 1;
        for row in 0..batch.num_rows() {
            *text += &format!("{:?}\n", one(&batch, row));
        }
    }
    found
}

/// A row, whatever the keys of its dictionaries are.
fn one(batch: &RecordBatch, row: usize) -> Vec<String> {
    use arrow_array::types::Int32Type;
    use arrow_array::{Array as _, DictionaryArray, LargeStringArray};
    let value = |column: &arrow_array::ArrayRef| {
        let any = column.as_any();
        if let Some(words) = any.downcast_ref::<DictionaryArray<Int32Type>>() {
            let texts = words.values().as_any().downcast_ref::<LargeStringArray>();
            let key = words.key(row);
            return format!("{:?}", key.map(|key| texts.unwrap().value(key).to_owned()));
        }
        format!("{:?}", column.slice(row, 1))
    };
    batch.columns().iter().map(value).collect()
}

#[test]
fn threads_and_sizes_of_batches_change_nothing() {
    let sources = || {
        vec![
            Source::Path(root("corpus/hand")),
            Source::Path(root("corpus/broken")),
        ]
    };
    let options = ScanOptions::new(&TableName::ALL);
    let all = rows(sources(), &options.clone().threads(1));
    for (table, batches, text) in &all {
        assert!(*batches > 0 && !text.is_empty(), "{table}");
    }
    let others = [options.clone().rows(100).threads(2), options.threads(3)];
    for options in sample(2, 2).of(others) {
        for (one, other) in all.iter().zip(rows(sources(), &options)) {
            assert_eq!(one.0, other.0);
            assert!(one.2 == other.2, "{} differs", one.0);
        }
    }
}

#[test]
fn batches_are_bounded() {
    let options = ScanOptions::new(&[TableName::Instructions]).rows(10);
    let scan = Scan::new([Source::Path(root("corpus/hand"))], &options);
    let lengths: Vec<usize> = scan.map(|batch| batch.unwrap().1.num_rows()).collect();
    assert!(lengths.len() > 10 && lengths.iter().all(|rows| (1..=10).contains(rows)));
}

#[test]
fn what_cannot_be_read_is_a_diagnostic() {
    let options = ScanOptions::new(&[TableName::Diagnostics]);
    let sources = vec![
        Source::Path("no such file.ptx".into()),
        Source::Bytes("empty.bin".to_owned(), b"\x7fELF".to_vec()),
        Source::Bytes("bad.gz".to_owned(), vec![0x1f, 0x8b, 8, 0]),
    ];
    let mut scan = Scan::new(sources, &options);
    let (_, batch) = scan.next().unwrap().unwrap();
    assert!(scan.next().is_none());
    assert_eq!(scan.unreadable(), 3);
    let texts: Vec<String> = (0..3).map(|row| one(&batch, row).join(" ")).collect();
    for (text, wanted) in texts.iter().zip(["unreadable", "PTX1101", "PTX11"]) {
        assert!(text.contains(wanted), "{text}");
    }
}

#[test]
fn a_container_is_a_module_for_each_entry() {
    let options = ScanOptions::new(&[TableName::Modules]);
    for (file, count) in [("k.a", 3), ("k.whl", 1)] {
        let path = root("ptx-container/tests/data").join(file);
        let all = rows(vec![Source::Path(path)], &options);
        let names: Vec<&str> = all[0].2.lines().collect();
        let is_entry = |name: &&str| name.contains(&format!("{file}!"));
        assert_eq!(
            names.iter().filter(|n| is_entry(n)).count(),
            count,
            "{names:?}"
        );
        assert_eq!(names.len(), count);
    }
}

#[test]
fn a_scan_that_is_dropped_ends_its_threads() {
    let options = ScanOptions::new(&[TableName::Instructions]).rows(1);
    for _ in 0..20 {
        let mut scan = Scan::new([Source::Path(root("corpus/hand"))], &options);
        assert!(scan.next().unwrap().is_ok());
    }
}

#[test]
fn chosen_columns_are_those_of_all() {
    let options = ScanOptions::new(&[TableName::Instructions]);
    let options = options
        .columns(TableName::Instructions, &["opcode", "line"])
        .unwrap();
    let mut scan = Scan::new([Source::Path(root("corpus/hand"))], &options);
    let (_, batch) = scan.next().unwrap().unwrap();
    let names: Vec<_> = batch
        .schema_ref()
        .fields()
        .iter()
        .map(|f| f.name().as_str())
        .collect();
    assert_eq!(names, ["line", "opcode"]);
    assert!(
        options
            .columns(TableName::Instructions, &["color"])
            .is_err()
    );
}

#[test]
fn columns_that_are_computed_if_they_are_asked_for() {
    let text = ".version 8.5\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p, .param .u32 n)\n{\n\
        .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<3>;\nld.param.u64 %d0, [p];\nld.param.u32 %r0, [n];\nmov.u32 %r1, %tid.x;\nmov.b32 %r2, 0;\n\
        L: add.s32 %r2, %r2, 1;\nsetp.lt.s32 %p, %r2, %r0;\n@%p bra L;\nmad.wide.u32 %d1, %r1, 8, %d0;\nst.global.u32 [%d1], %r1;\nret;\n}\n";
    let asked = |table: TableName, columns: &[&str]| {
        for name in columns {
            assert!(table.schema().index_of(name).is_err(), "{name}");
        }
        let options = ScanOptions::new(&[table]).columns(table, columns).unwrap();
        let sources = vec![Source::Bytes("a.ptx".to_owned(), text.into())];
        let all = rows(sources, &options).remove(0).2;
        let words = all
            .replace("PrimitiveArray<Int64>\\n", "")
            .replace("\\n", "");
        words.lines().map(str::to_owned).collect::<Vec<String>>()
    };
    let memory = asked(
        TableName::Memory,
        &[
            "coalescing",
            "stride",
            "sectors",
            "degree",
            "address",
            "known_space",
        ],
    );
    assert_eq!(memory.len(), 3);
    for wanted in ["global", "strided", "[  8,]", "p + 8*%tid.x"] {
        assert!(memory[2].contains(wanted), "{wanted}: {}", memory[2]);
    }
    let loops = asked(
        TableName::Loops,
        &["trip_count", "trip_count_form", "trip_count_exact"],
    );
    assert_eq!(loops.len(), 1);
    assert!(loops[0].contains("max(1, n)"), "{}", loops[0]);
    assert!(
        loops[0].contains("true") && loops[0].contains("null"),
        "{}",
        loops[0]
    );
    let uniform = asked(TableName::Instructions, &["uniform"]);
    let expected = ["Some(\\\"grid\\\")", "Some(\\\"varying\\\")", "None"];
    for (row, wanted) in [(0, 0), (2, 1), (6, 2), (7, 1)] {
        assert!(
            uniform[row].contains(expected[wanted]),
            "{row}: {}",
            uniform[row]
        );
    }
    let affine = asked(TableName::Instructions, &["affine"]);
    for (row, wanted) in [(1, "%r0 = n"), (7, "%d1 = p + 8*%tid.x"), (8, "[]")] {
        assert!(affine[row].contains(wanted), "{row}: {}", affine[row]);
    }
    let blocks = asked(TableName::Blocks, &["uniform"]);
    assert!(blocks.iter().all(|b| b.contains("grid")), "{blocks:?}");
}

#[test]
fn findings_of_lints_have_their_functions_and_places() {
    let text = ".version 8.5\n.target sm_90\n.address_size 64\n.entry a() { ret; }\n.entry b(.param .u64 p)\n{\n\
        .reg .b32 %r<3>; .reg .b64 %d<1>; .shared .align 16 .b32 s[1024];\nmov.u32 %r0, %tid.x;\nmov.b32 %r1, s;\n\
        mad.lo.u32 %r1, %r0, 16, %r1;\nst.shared.b32 [%r1], %r0;\nbar.sync 0;\nld.shared.b32 %r2, [s];\n\
        ld.param.u64 %d0, [p];\nst.global.b32 [%d0], %r2;\nadd.u32 %r1, %r0, 3;\nret;\n}\n";
    let options = ScanOptions::new(&[TableName::Lints]);
    let columns = ["function", "lint", "code", "certainty", "degree", "line"];
    let options = options.columns(TableName::Lints, &columns).unwrap();
    let sources = vec![Source::Bytes("a.ptx".to_owned(), text.into())];
    let all = rows(sources, &options).remove(0).2;
    let all: Vec<&str> = all.lines().collect();
    assert_eq!(all.len(), 2, "{all:#?}");
    let wanted = [
        ["b", "bank-conflict", "PTX1514", "definite", "4,", "11,"],
        ["b", "dead-code", "PTX1512", "definite", "null,", "16,"],
    ];
    for (row, wanted) in all.iter().zip(wanted) {
        for text in wanted {
            assert!(row.contains(text), "{text}: {row}");
        }
    }
}

/// `docs/scale.md` ends with the list of the columns. `PTXKIT_BLESS=1` writes it.
#[test]
fn the_columns_are_documented() {
    const START: &str = "## Columns\n\n";
    let path = root("docs/scale.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, _) = text.split_once(START).unwrap();
    let wanted = format!(
        "{before}{START}{}",
        ptx_table::page().trim_end().to_owned() + "\n"
    );
    if std::env::var_os("PTXKIT_BLESS").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap() == wanted,
        "run with PTXKIT_BLESS=1"
    );
}

/// The functions of [`large`], of seven instructions each.
const FUNCTIONS: usize = 120;

/// A file of more than two megabytes, most of it comments, whose functions are divided among threads.
fn large() -> Source {
    let mut text = ".version 8.0\n.target sm_80\n".to_owned();
    let comment = format!("\t// {}\n", "a".repeat(100)).repeat(200);
    for function in 0..FUNCTIONS {
        text += &format!(".func f{function}()\n{{\n\t.reg .b32 %r<3>;\n{comment}");
        for line in 0..5 {
            text += &format!("\tadd.s32 %r1, %r2, {line};\n");
        }
        text += "\tld.global.b32 %r1, [64];\n\tret;\n}\n";
    }
    assert!(text.len() > 2_200_000);
    Source::Bytes("large.ptx".to_owned(), text.into())
}

#[test]
fn the_parts_of_a_large_file_are_in_order() {
    let options = ScanOptions::new(&TableName::ALL);
    let sources = || {
        vec![
            Source::Path(root("corpus/broken")),
            large(),
            large(),
            Source::Path(root("corpus/hand")),
        ]
    };
    let one = rows(sources(), &options.clone().threads(1));
    let instructions = one
        .iter()
        .find(|(table, ..)| *table == TableName::Instructions)
        .unwrap();
    assert!(instructions.2.lines().count() > 2 * 7 * FUNCTIONS);
    for threads in sample(2, 2).of([5, 2]) {
        assert!(
            rows(sources(), &options.clone().threads(threads)) == one,
            "{threads} threads"
        );
    }
}

#[test]
fn the_rows_of_a_large_file_are_in_the_order_of_the_text() {
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::Int32Type;

    let options = ScanOptions::new(&[TableName::Instructions])
        .rows(100)
        .threads(3);
    let options = options.columns(TableName::Instructions, &["start"]);
    let mut starts: Vec<i32> = Vec::new();
    for batch in Scan::new([large()], &options.unwrap()) {
        let (_, batch) = batch.unwrap();
        let column = batch.column(0).as_primitive::<Int32Type>();
        starts.extend(column.values());
    }
    assert!(starts.is_sorted_by(|one, next| one < next));
    assert_eq!(starts.len(), FUNCTIONS * 7);
}

#[test]
fn a_scan_that_is_dropped_ends_the_threads_of_parts() {
    let options = ScanOptions::new(&[TableName::Instructions])
        .rows(10)
        .threads(4);
    for wanted in [0, 1, 3, 50] {
        let mut scan = Scan::new([large()], &options);
        assert!((0..wanted).all(|_| scan.next().unwrap().is_ok()));
    }
}
