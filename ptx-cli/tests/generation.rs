//! Which files of the corpus have no machine code according to `check`, compared with ptxas.

use std::fs;
use std::path::Path;

use ptx_ir::Code;

#[test]
fn files_that_make_code_have_no_warning_that_they_do_not() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let index = fs::read_to_string(corpus.join("INDEX.tsv")).unwrap();
    let (mut whole, mut linked) = (0, 0);
    for line in index.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let (path, code, message) = (cells[0], cells[7], cells[8]);
        if !matches!(code, "ok" | "ok -c") {
            continue;
        }
        let text = fs::read(corpus.join(path)).unwrap();
        let found = ptx_verify::codegen_limits(&ptx_parse::parse(&text).module);
        let codes: Vec<Code> = found.iter().map(|d| d.code).collect();
        let always = codes.iter().all(|c| *c == Code::UnresolvedExtern);
        assert!(always, "{path}: {codes:?}");
        if code == "ok -c" && message.contains("Unresolved extern") {
            linked += 1;
            assert!(!codes.is_empty(), "{path}: {message}");
        }
        whole += 1;
    }
    assert!(whole > 200 && linked > 20, "{whole} {linked}");
}
