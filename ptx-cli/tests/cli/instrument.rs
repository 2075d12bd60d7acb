//! `instrument`.

use crate::support::{BAD, Folder, GOOD, ptx, with_input};

#[test]
fn probes_and_their_sites() {
    let folder = Folder::new("instrument");
    let (good, sites) = (folder.file("good.ptx", GOOD), folder.file("sites.tsv", ""));
    let run = ptx(&[
        "instrument",
        "--probe",
        "trace",
        "--records",
        "100",
        "--sites",
        &sites,
        &good,
    ]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    assert!(
        run.out.contains(".b8 ptx_trace_records[3200];\n"),
        "{}",
        run.out
    );
    assert_eq!(run.out.matches(" call ptx_trace_record, (").count(), 2);
    let listed = std::fs::read_to_string(&sites).unwrap();
    let wanted = "id\tfunction\tline\twhen\tinstruction\n0\tk\t13\tafter\tld.global.u32 %r1, [%rd1];\n1\tk\t16\tbefore\tst.global.u32 [%rd1], %r2;\n";
    assert_eq!(listed, wanted);

    let arguments = [
        "instrument",
        "--probe",
        "bounds",
        "--low",
        "0x10",
        "--high",
        "32",
        "--name",
        "b",
        "-",
    ];
    let run = with_input(&arguments, GOOD.as_bytes());
    assert!(
        run.out.contains(".u64 b[2] = {0x10, 0x20};\n"),
        "{}",
        run.out
    );
    assert_eq!((run.status, run.out.matches(" trap;\n").count()), (0, 2));
    let again = with_input(&arguments, run.out.as_bytes());
    let said =
        "<stdin>: not written: the name `b` is already in use; use --name to choose another one\n";
    assert_eq!(
        (again.status, again.out.as_str(), again.err.as_str()),
        (1, "", said)
    );

    let run = with_input(&["instrument", "--probe", "trace", "-"], BAD.as_bytes());
    assert_eq!((run.status, run.out.as_str()), (1, ""));
    let run = with_input(
        &["instrument", "--probe", "bounds", "--space", "param", "-"],
        GOOD.as_bytes(),
    );
    assert_eq!((run.status, run.out.as_str()), (2, ""));
}
