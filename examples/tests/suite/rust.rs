//! Kernels that rustc compiled and `.ci/rust` completed: their results are those of the same functions here.

use ptx_examples::rust::{compare, instrumented, numbers, on_host, on_machine};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../corpus/compiled/rust");

#[test]
fn kernels_in_rust_compute_what_the_host_computes() -> Result<(), Box<dyn std::error::Error>> {
    let mut files = 0;
    for entry in std::fs::read_dir(FOLDER)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kernel = name.split('.').next().unwrap_or_default();
        let module = ptx_parse::parse(&std::fs::read(&path)?).module;
        compare(&module, kernel)?;
        compare(
            &instrumented(&module, &[kernel])?,
            &format!("rust_{kernel}"),
        )?;
        files += 1;
    }
    assert!(files >= 6, "{files}");
    Ok(())
}

#[test]
fn an_index_beyond_the_row_panics() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::fs::read(format!("{FOLDER}/follow_in_rows.rustc196.sm_80.ptx"))?;
    let module = ptx_parse::parse(&text).module;
    let mut rows = numbers(40, 8);
    rows[35 * 8] = 8;
    let error = on_machine(&module, "follow_in_rows", &rows, 8);
    let error = error.err().ok_or("it does not panic")?.to_string();
    assert!(error.contains("thread (35, 0, 0)"), "{error}");
    assert!(error.contains("rust_begin_unwind"), "{error}");
    Ok(())
}

#[test]
fn the_host_sorts_by_the_last_digit() {
    let sorted = on_host("rust_sort_rows", &[31, 12, 20, 11, 7, 3], 6);
    assert_eq!(sorted.0, [20, 31, 11, 12, 3, 7]);
}
