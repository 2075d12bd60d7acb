//! Random functions in which threads begin with different values.

use super::random::Random;
use super::random::program::program;
use super::sample::seed;
use super::tally::Tally;
use super::{UNVARIED, check};

/// Where the registers of a random function come from.
const ORIGINS: [&str; 12] = [
    "%tid.x",
    "%tid.y",
    "%ctaid.x",
    "%laneid",
    "%warpid",
    "%ntid.x",
    "%clock",
    "%cluster_ctarank",
    "1",
    "2",
    "%ctaid.y",
    "%clusterid.x",
];

/// A random function as a kernel; its threads share the memory that it uses.
fn kernel(random: &mut Random) -> String {
    let mut start = String::from("mov.u64 %d, data;\n");
    for r in 0..6 {
        let origin = ORIGINS[random.below(ORIGINS.len() as u64) as usize];
        start += &format!("mov.u32 %r{r}, {origin};\n");
    }
    for p in 0..3 {
        let (r, n) = (random.below(6), random.below(4));
        start += &format!("setp.gt.u32 %p{p}, %r{r}, {n};\n");
    }
    start += "add.cc.u32 %r0, %r0, %r1;\n";
    let text = program(random).text;
    let text = text.replace(".func (.reg .b32 out) k(", ".entry k(");
    let declared = ".reg .b64 %d;\n";
    let text = text.replace(declared, &format!("{declared}{start}"));
    let at = text.find(".entry").unwrap_or(0);
    format!(
        "{}.global .align 8 .b8 data[128];\n{}",
        &text[..at],
        &text[at..]
    )
}

/// Checks that many random kernels.
pub(crate) fn check_all(count: u64) -> Tally {
    let mut tally = Tally::default();
    let first = seed().wrapping_mul(count);
    for seed in (0..count).map(|n| first.wrapping_add(n)) {
        let text = kernel(&mut Random::new(seed));
        let parsed = ptx_parse::parse_str(&text);
        let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
        assert!(errors.is_empty(), "{errors:?}\n{text}");
        let found = check(&parsed.module, &format!("random kernel {seed}"), &UNVARIED);
        tally.add(found);
    }
    tally
}
