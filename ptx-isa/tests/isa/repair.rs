//! Repairs of instructions.

use ptx_isa::internals::InstQuery;
use ptx_isa::{Modifier, Opcode};

/// Modifiers in every place, instead of every modifier, and without each; nothing is tried for more modifiers than any form takes.
#[test]
fn the_number_of_tried_repairs_is_bounded() {
    let tried = |count: usize| {
        let modifiers = vec![Modifier::S32; count];
        InstQuery::new(Opcode::Add, &modifiers, &[]).count_tried_repairs()
    };
    let words = Modifier::ALL.len();
    for count in 1..200 {
        assert!(
            tried(count) <= (2 * count + 1) * words + 2 * count,
            "{count}"
        );
    }
    assert!(tried(2) > 0);
    assert_eq!(tried(64), 0);
}
