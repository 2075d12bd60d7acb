//! Runs every target over its saved texts: no nightly toolchain and no libFuzzer needed.
#![allow(clippy::expect_used, reason = "tests fail by panics")]

use std::time::Duration;

fn saved_texts_hold(name: &str) {
    let target = ptx_fuzz::target(name).expect("a target");
    let saved = ptx_fuzz::saved(name).expect("saved texts");
    assert!(saved.len() > 10, "only {} texts", saved.len());
    for (path, text) in saved {
        println!("{}", path.display());
        target(&text);
    }
}

#[test]
fn every_target_holds() {
    let names: Vec<&str> = ptx_fuzz::TARGETS.iter().map(|(name, _)| *name).collect();
    let listed: Vec<&str> = ptx_fuzz::listed().map(|(name, _)| name).collect();
    assert_eq!(names, listed);
    for name in names {
        saved_texts_hold(name);
    }
}

/// The mutation loop itself works: it tries texts and does not stop at the seeds.
#[test]
fn the_loop_damages_texts() {
    let seeds = vec![b".version 8.0\n.target sm_90\n".to_vec()];
    let mut different = 0;
    let tried = ptx_fuzz::run(
        |_| {},
        &seeds,
        Duration::from_millis(50),
        7,
        |text| {
            different += (text != seeds[0]) as u64;
        },
    );
    assert!(
        tried > 100 && different * 2 > tried,
        "{different} of {tried}"
    );
}
