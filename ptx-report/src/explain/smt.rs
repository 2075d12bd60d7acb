//! The semantics of an instruction as SMT-LIB functions.

use std::fmt::Write as _;

use ptx_semantics::smt;

use super::instruction::words;

/// An SMT-LIB script that defines the semantics of an instruction with all its modifiers: a function for each result.
///
/// # Errors
///
/// There is no such instruction, or its semantics are not expressible; the message states the reason.
pub fn script(text: &str) -> Result<String, String> {
    let (opcode, modifiers) = words(text)?;
    let definitions = smt::definitions(opcode, &modifiers).map_err(|error| match error {
        smt::NotExpressible::Unknown => {
            format!("`{text}` is not a complete instruction; --smt expects an opcode with all its modifiers")
        }
        error => format!("`{text}`: {error}"),
    })?;
    let mut script = String::new();
    let mut computes = "";
    for definition in &definitions {
        if computes != definition.computes {
            computes = definition.computes;
            let _ = writeln!(script, "; {text} computes {computes}");
        }
        let _ = writeln!(script, "{definition}");
    }
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::script;

    #[test]
    fn a_script() {
        let expected = "; add.cc.u32 computes t = unsigned(a, a) + unsigned(b, b); d = t; carry = t >> width(d)\n\
            (define-fun add.cc.u32 ((a (_ BitVec 32)) (b (_ BitVec 32))) (_ BitVec 32)\n  (bvadd a b))\n\
            (define-fun add.cc.u32.carry ((a (_ BitVec 32)) (b (_ BitVec 32))) Bool\n  \
            (= ((_ extract 32 32) (bvadd ((_ zero_extend 1) a) ((_ zero_extend 1) b))) #b1))\n";
        assert_eq!(script("add.cc.u32").as_deref(), Ok(expected));
    }

    #[test]
    fn what_has_no_script() {
        for (text, message) in [
            (
                "addd.s32",
                "unknown instruction `addd`; did you mean `add`?",
            ),
            (
                "add",
                "`add` is not a complete instruction; --smt expects an opcode with all its modifiers",
            ),
            (
                "shfl.sync.up.b32",
                "`shfl.sync.up.b32`: the tables do not describe its semantics",
            ),
            ("PTX0104", "unknown instruction `PTX0104`"),
        ] {
            assert_eq!(script(text), Err(message.to_string()));
        }
    }
}
