//! The machine against an interpreter that knows how a random function was made.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use std::fmt::Write as _;

use crate::{random, run};
use ptx_vm::{Launch, Machine, StopReason};
use random::Random;
use random::program::{State, program};

/// The state that a launch of a function with values leaves; `None` after a jump beyond a table.
fn end_state(text: &str, start: &State) -> Option<State> {
    let mut end = String::from("END:\nmov.u64 %d, data;\n");
    for r in 0..6 {
        let _ = writeln!(end, "st.global.b32 [%d+{}], %r{r};", 40 + 4 * r);
    }
    for p in 0..3 {
        let at = 64 + 4 * p;
        let _ = write!(
            end,
            "selp.b32 %r0, 1, 0, %p{p};\nst.global.b32 [%d+{at}], %r0;\n"
        );
    }
    end += "addc.u32 %r0, 0, 0;\nst.global.b32 [%d+76], %r0;\n}\n";
    let text = run::with_values(text).replace("ret;", "bra END;");
    let text = text.trim_end().strip_suffix('}').unwrap().to_owned() + &end;
    let parsed = ptx_parse::parse_str(&text);
    assert!(
        parsed.diagnostics.is_empty(),
        "{:?}\n{text}",
        parsed.diagnostics
    );
    let mut machine = Machine::new(&parsed.module);
    let (data, _) = machine.variable("data").unwrap();
    machine.write(data, &run::data(start)).unwrap();
    let mut launch = Launch::new("k");
    launch.limits.steps = 2000;
    if let Err(error) = machine.launch(&launch) {
        assert_eq!(error.reason, StopReason::BadTarget, "{text}");
        return None;
    }
    let bytes = machine.read(data, 80).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    Some(State {
        regs: core::array::from_fn(|r| word(40 + 4 * r)),
        preds: core::array::from_fn(|p| word(64 + 4 * p) == 1),
        carry: word(76) == 1,
        cell: word(0),
    })
}

#[test]
fn both_come_to_the_same_state() {
    let mut random = Random::new(3);
    let (mut same, mut beyond, mut changed) = (0, 0, 0);
    for _ in 0..8000 {
        let program = program(&mut random);
        let start = State::random(&mut random);
        let (mut steps, mut last) = (0, start);
        program.run(start, |_, _, after| (steps, last) = (steps + 1, *after));
        if steps == 200 {
            // It may never end.
            continue;
        }
        match end_state(&program.text, &start) {
            Some(found) => {
                assert_eq!(found, last, "{start:?}\n{}", program.text);
                same += 1;
            }
            None => beyond += 1,
        }
        changed += usize::from(last.cell != start.cell);
    }
    assert!(
        same > 4000 && beyond > 500 && changed > 500,
        "{same} {beyond} {changed}"
    );
}
