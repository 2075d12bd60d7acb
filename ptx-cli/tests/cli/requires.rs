//! `requires` and `retarget`.

use crate::support::{objects, with_input};

const CLUSTERS: &str = "// kept\n.version 8.7 // and this\n.target sm_90\n.address_size 64\n.entry k() { griddepcontrol.wait; ret; }\n";

#[test]
fn required_targets_and_versions() {
    let run = with_input(&["requires", "-"], CLUSTERS.as_bytes());
    assert!(
        run.out.contains("sm_90 and newer from PTX 7.8"),
        "{}",
        run.out
    );
    assert!(run.out.contains("5:14: griddepcontrol.wait"), "{}", run.out);
    assert_eq!(run.status, 0);
    let run = with_input(
        &["requires", "--target", "sm_80", "--json", "-"],
        CLUSTERS.as_bytes(),
    );
    let object = &objects(&run.out)[0];
    assert_eq!(object["minimal"][0]["target"], "sm_90");
    assert_eq!(object["minimal"][0]["ptx"], "7.8");
    assert_eq!(
        object["blocked"]["reasons"][0]["what"],
        "griddepcontrol.wait"
    );
    assert_eq!(run.status, 1);
}

#[test]
fn retargeting() {
    let run = with_input(
        &[
            "retarget",
            "--target",
            "sm_90a",
            "--ptx-version",
            "lowest",
            "-",
        ],
        CLUSTERS.as_bytes(),
    );
    let wanted = CLUSTERS.replace("8.7", "8.0").replace("sm_90", "sm_90a");
    assert_eq!((run.status, run.out), (0, wanted));
    let run = with_input(&["retarget", "--target", "sm_80", "-"], CLUSTERS.as_bytes());
    assert_eq!((run.status, run.out.as_str()), (1, ""));
    assert!(
        run.err.contains("<stdin>:5:14: error[PTX0513]"),
        "{}",
        run.err
    );
}
