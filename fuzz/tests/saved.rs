//! Runs every target over its saved texts: no nightly toolchain and no libFuzzer needed.
#![allow(clippy::expect_used)]

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
fn container_total() {
    saved_texts_hold("container_total");
}

#[test]
fn parse_total() {
    saved_texts_hold("parse_total");
}

#[test]
fn roundtrip_exact() {
    saved_texts_hold("roundtrip_exact");
}

#[test]
fn canonical_fixpoint() {
    saved_texts_hold("canonical_fixpoint");
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
