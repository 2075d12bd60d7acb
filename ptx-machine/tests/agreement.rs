//! The machine that reads PTX against the one that knows how a function was made.
#![allow(clippy::unwrap_used)]

use ptx_ir::facts::ModuleFacts;
use ptx_machine::program::{State, program};
use ptx_machine::{End, Machine, Random};

#[test]
fn both_come_to_the_same_state() {
    let mut random = Random::new(3);
    let (mut done, mut stores) = (0, 0);
    for _ in 0..3000 {
        let program = program(&mut random);
        let module = ptx_parse::parse(program.text.as_bytes()).module;
        let facts = ModuleFacts::new(&module);
        let function = module.function("k").unwrap();
        let start = State::random(&mut random);
        let mut machine = Machine::new(facts.function(function).unwrap(), function, 1);
        let address = machine.get("%d").unwrap_or(0) as u64;
        for (r, value) in start.regs.iter().enumerate() {
            machine.set(&format!("%r{r}"), (*value).into());
        }
        for (p, value) in start.preds.iter().enumerate() {
            machine.set(&format!("%p{p}"), (*value).into());
        }
        machine.set_carry(start.carry);
        machine.poke(address, &start.cell.to_le_bytes());
        let (mut steps, mut last) = (0, start);
        program.run(start, |_, _, after| (steps, last) = (steps + 1, *after));
        let trace = machine.run(steps);
        assert_eq!(trace.steps, steps, "{}", program.text);
        for (r, value) in last.regs.iter().enumerate() {
            let is = machine.get(&format!("%r{r}"));
            assert!(
                is.is_none_or(|is| is == u128::from(*value)),
                "%r{r}\n{}",
                program.text
            );
        }
        for (p, value) in last.preds.iter().enumerate() {
            let is = machine.get(&format!("%p{p}"));
            assert!(
                is.is_none_or(|is| is == u128::from(*value)),
                "%p{p}\n{}",
                program.text
            );
        }
        if program.text.contains("%d]") {
            assert_eq!(
                machine.peek(address, 4),
                last.cell.into(),
                "{}",
                program.text
            );
        }
        done += usize::from(trace.end != End::StepLimit || steps < 200);
        stores += usize::from(!trace.effects.is_empty());
    }
    assert!(done > 1500 && stores > 500, "{done} {stores}");
}
