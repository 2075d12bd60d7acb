//! Families of classical litmus tests. The verdicts follow from the text of the PTX ISA manual: each family states when its outcome is forbidden.

use ptx_memory::ExploreOptions;
use ptx_memory::litmus::Litmus;

const SCOPES: [&str; 3] = ["cta", "gpu", "sys"];

/// The places of threads: in one CTA, on one device, on different devices.
const PLACES: [&str; 3] = ["cta", "gpu", "sys"];

/// The number of the smallest scope that includes threads at a place.
fn level(word: &str) -> usize {
    SCOPES.iter().position(|scope| *scope == word).unwrap()
}

fn header(place: &str, threads: usize) -> String {
    let heads: Vec<String> = (0..threads)
        .map(|thread| match place {
            "cta" => format!("P{thread}@cta 0,gpu 0"),
            "gpu" => format!("P{thread}@cta {thread},gpu 0"),
            _ => format!("P{thread}@cta {thread},gpu {thread}"),
        })
        .collect();
    heads.join(" | ")
}

/// Decides a test of columns of instructions. Returns whether an execution satisfies the condition.
fn is_allowed(place: &str, columns: &[String], condition: &str) -> bool {
    let cells: Vec<Vec<&str>> = columns
        .iter()
        .map(|column| column.split(';').map(str::trim).collect())
        .collect();
    let rows = cells.iter().map(Vec::len).max().unwrap();
    let mut text = format!(
        "PTX family\n{{ x = 0; y = 0; z = 0; }}\n{} ;\n",
        header(place, columns.len())
    );
    for row in 0..rows {
        let row: Vec<&str> = cells
            .iter()
            .map(|column| column.get(row).copied().unwrap_or(""))
            .collect();
        text.push_str(&format!("{} ;\n", row.join(" | ")));
    }
    text.push_str(&format!("exists ({condition})\n"));
    let litmus = Litmus::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let verdict = litmus.decide(&ExploreOptions::default());
    assert!(verdict.is_certain, "{text}");
    verdict.holds
}

/// Decides tests and counts them.
#[derive(Default)]
struct Family {
    tests: usize,
    forbidden: usize,
}

impl Family {
    fn expect(&mut self, place: &str, columns: &[String], condition: &str, allowed: bool) {
        self.tests += 1;
        self.forbidden += usize::from(!allowed);
        assert_eq!(
            is_allowed(place, columns, condition),
            allowed,
            "{place}: {columns:#?} exists {condition}"
        );
    }
}

/// A signal: the instructions that write the flag, and whether they are a release pattern.
fn signals(scope: &str, flag: &str) -> Vec<(String, bool)> {
    vec![
        (format!("st.relaxed.{scope} {flag}, 1"), false),
        (format!("st.release.{scope} {flag}, 1"), true),
        (
            format!("fence.acq_rel.{scope}; st.relaxed.{scope} {flag}, 1"),
            true,
        ),
        (
            format!("fence.sc.{scope}; st.relaxed.{scope} {flag}, 1"),
            true,
        ),
        (format!("atom.release.{scope}.exch r8, {flag}, 1"), true),
        (format!("red.release.{scope}.add {flag}, 1"), true),
    ]
}

/// A wait: the instructions that read the flag into a register, and whether they are an acquire pattern.
fn waits(scope: &str, flag: &str, register: &str) -> Vec<(String, bool)> {
    vec![
        (format!("ld.relaxed.{scope} {register}, {flag}"), false),
        (format!("ld.acquire.{scope} {register}, {flag}"), true),
        (
            format!("ld.relaxed.{scope} {register}, {flag}; fence.acq_rel.{scope}"),
            true,
        ),
        (
            format!("atom.acquire.{scope}.add {register}, {flag}, 0"),
            true,
        ),
    ]
}

#[test]
fn message_passing() {
    let mut family = Family::default();
    for place in PLACES {
        for released in SCOPES {
            for acquired in SCOPES {
                for (signal, releases) in signals(released, "y") {
                    for (wait, acquires) in waits(acquired, "y", "r0") {
                        let includes = level(released).min(level(acquired)) >= level(place);
                        family.expect(
                            place,
                            &[
                                format!("st.weak x, 1; {signal}"),
                                format!("{wait}; ld.weak r1, x"),
                            ],
                            "P1:r0 == 1 /\\ P1:r1 == 0",
                            !(includes && releases && acquires),
                        );
                    }
                }
            }
        }
    }
    assert!(family.tests >= 600 && family.forbidden >= 100);
}

#[test]
fn transitive_message_passing() {
    let mut family = Family::default();
    for scope in SCOPES {
        for place in PLACES {
            for (signal, releases) in signals(scope, "y") {
                for (wait, acquires) in waits(scope, "z", "r1") {
                    // ISA2: the second thread waits and signals.
                    let middle = format!("ld.acquire.{scope} r0, y; st.release.{scope} z, 1");
                    let includes = level(scope) >= level(place);
                    let columns = [
                        format!("st.weak x, 1; {signal}"),
                        middle,
                        format!("{wait}; ld.weak r2, x"),
                    ];
                    family.expect(
                        place,
                        &columns,
                        "P1:r0 == 1 /\\ P2:r1 == 1 /\\ P2:r2 == 0",
                        !(includes && releases && acquires),
                    );
                }
            }
        }
    }
    // WRC: the first write is observed, and the observation is passed on.
    for scope in SCOPES {
        for place in PLACES {
            let includes = level(scope) >= level(place);
            for (wait, acquires) in waits(scope, "y", "r1") {
                family.expect(
                    place,
                    &[
                        format!("st.relaxed.{scope} x, 1"),
                        format!("ld.relaxed.{scope} r0, x; st.release.{scope} y, 1"),
                        format!("{wait}; ld.relaxed.{scope} r2, x"),
                    ],
                    "P1:r0 == 1 /\\ P2:r1 == 1 /\\ P2:r2 == 0",
                    !(includes && acquires),
                );
            }
        }
    }
    assert!(family.tests >= 200);
}

#[test]
fn store_buffering_needs_fences_in_one_order() {
    let mut family = Family::default();
    for place in PLACES {
        for first in SCOPES {
            for second in SCOPES {
                for (one, other) in [("sc", "sc"), ("sc", "acq_rel"), ("acq_rel", "acq_rel")] {
                    let includes = level(first).min(level(second)) >= level(place);
                    family.expect(
                        place,
                        &[
                            format!("st.weak x, 1; fence.{one}.{first}; ld.weak r0, y"),
                            format!("st.weak y, 1; fence.{other}.{second}; ld.weak r1, x"),
                        ],
                        "P0:r0 == 0 /\\ P1:r1 == 0",
                        !(includes && one == "sc" && other == "sc"),
                    );
                }
            }
        }
        for barriers in [
            ["bar.cta.sync 0", "bar.cta.sync 0"],
            ["bar.cta.sync 0", "bar.cta.sync 1"],
        ] {
            family.expect(
                place,
                &[
                    format!("st.weak x, 1; {}; ld.weak r0, y", barriers[0]),
                    format!("st.weak y, 1; {}; ld.weak r1, x", barriers[1]),
                ],
                "P0:r0 == 0 /\\ P1:r1 == 0",
                !(place == "cta" && barriers[0] == barriers[1]),
            );
        }
    }
    assert!(family.tests >= 80);
}

#[test]
fn load_buffering_and_thin_air() {
    let mut family = Family::default();
    for place in PLACES {
        for scope in SCOPES {
            let includes = level(scope) >= level(place);
            let load = |register: &str, variable: &str, order: &str| {
                format!("ld.{order}.{scope} {register}, {variable}")
            };
            for order in ["relaxed", "acquire"] {
                for store in ["relaxed", "release"] {
                    family.expect(
                        place,
                        &[
                            format!("{}; st.{store}.{scope} y, 1", load("r0", "x", order)),
                            format!("{}; st.{store}.{scope} x, 1", load("r1", "y", order)),
                        ],
                        "P0:r0 == 1 /\\ P1:r1 == 1",
                        !(includes && order == "acquire" && store == "release"),
                    );
                }
            }
            // Values that only depend on themselves.
            family.expect(
                place,
                &[
                    format!("{}; st.relaxed.{scope} y, r0", load("r0", "x", "relaxed")),
                    format!("{}; st.relaxed.{scope} x, r1", load("r1", "y", "relaxed")),
                ],
                "P0:r0 != 0",
                false,
            );
        }
    }
    assert!(family.tests >= 45);
}

#[test]
fn independent_reads_of_independent_writes() {
    let mut family = Family::default();
    for place in PLACES {
        for scope in SCOPES {
            for fence in ["sc", "acq_rel"] {
                let includes = level(scope) >= level(place);
                family.expect(
                    place,
                    &[
                        format!("st.relaxed.{scope} x, 1"),
                        format!("ld.relaxed.{scope} r0, x; fence.{fence}.{scope}; ld.relaxed.{scope} r1, y"),
                        format!("st.relaxed.{scope} y, 1"),
                        format!("ld.relaxed.{scope} r2, y; fence.{fence}.{scope}; ld.relaxed.{scope} r3, x"),
                    ],
                    "P1:r0 == 1 /\\ P1:r1 == 0 /\\ P3:r2 == 1 /\\ P3:r3 == 0",
                    !(includes && fence == "sc"),
                );
            }
        }
    }
    assert_eq!(family.tests, 18);
}

#[test]
fn one_location_is_coherent() {
    let mut family = Family::default();
    for place in PLACES {
        for scope in SCOPES {
            let strong = level(scope) >= level(place);
            let order = format!("relaxed.{scope}");
            for (store, load) in [
                (&order[..], &order[..]),
                ("weak", "weak"),
                (&order[..], "weak"),
            ] {
                let coherent = strong && store == load && load != "weak";
                family.expect(
                    place,
                    &[
                        format!("st.{store} x, 1"),
                        format!("ld.{load} r0, x; ld.{load} r1, x"),
                    ],
                    "P1:r0 == 1 /\\ P1:r1 == 0",
                    !coherent,
                );
                // A thread never overwrites its own later write, and never reads its own later write.
                family.expect(
                    place,
                    &[format!("st.{store} x, 1; st.{store} x, 2")],
                    "x == 1",
                    false,
                );
                family.expect(
                    place,
                    &[format!("ld.{load} r0, x; st.{store} x, 1")],
                    "P0:r0 == 1",
                    false,
                );
                family.expect(
                    place,
                    &[format!("st.{store} x, 1; ld.{load} r0, x")],
                    "P0:r0 == 0",
                    false,
                );
            }
            family.expect(
                place,
                &[
                    format!("st.{order} x, 1; st.{order} y, 2"),
                    format!("st.{order} y, 1; st.{order} x, 2"),
                ],
                "x == 1 /\\ y == 1",
                true,
            );
            family.expect(
                place,
                &[
                    format!("st.{order} x, 1; fence.sc.{scope}; st.{order} y, 2"),
                    format!("st.{order} y, 1; fence.sc.{scope}; st.{order} x, 2"),
                ],
                "x == 1 /\\ y == 1",
                !strong,
            );
            for operation in ["atom.relaxed", "red.relaxed"] {
                let destination = if operation.starts_with("atom") {
                    "r0, "
                } else {
                    ""
                };
                family.expect(
                    place,
                    &[
                        format!("{operation}.{scope}.add {destination}x, 1"),
                        format!("{operation}.{scope}.add {destination}x, 1"),
                    ],
                    "x == 1",
                    !strong,
                );
            }
        }
    }
    assert!(family.tests >= 100);
}
