//! Expressions on the machine and on the CPU.

use ptx_examples::evaluate::{compare, on_cpu};

#[test]
fn expressions_have_the_same_values() -> Result<(), Box<dyn std::error::Error>> {
    for text in [
        "a",
        "2.5",
        "a * a + b",
        "(a - b) * -a / 3 + 0.5",
        "a / b - c / (a - a)",
        "-(-a + h) * (b - c * d) / 7",
    ] {
        assert_eq!(compare(text)?, 1000, "{text}");
    }
    assert!(compare("a +").is_err());
    Ok(())
}

#[test]
fn the_cpu_computes_from_left_to_right() -> Result<(), Box<dyn std::error::Error>> {
    for (text, value) in [
        ("a - b - 1", 5.0),
        ("8 / a / b", 0.5),
        ("-(a + b) * 2", -20.0),
    ] {
        assert_eq!(
            on_cpu(text, &[8.0, 2.0])?.to_bits(),
            f32::to_bits(value),
            "{text}"
        );
    }
    for wrong in ["", "(a", "a b", "x", "1..2"] {
        assert!(on_cpu(wrong, &[1.0]).is_err(), "{wrong}");
    }
    Ok(())
}
