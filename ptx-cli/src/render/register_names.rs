//! The names of registers: as they are written, followed by `#2` and so on for others of the same name.

use std::collections::HashMap;

use ptx_analysis::reg_lanes::Variables;
use ptx_ir::{Body, Module, Register};

/// The spelling of a register.
fn spelling(module: &Module, body: &Body, register: Register) -> String {
    let Some(decl) = body.reg_decls().get(register.decl) else {
        return String::new();
    };
    let name = module.name(decl.name);
    match decl.count {
        Some(_) => format!("{name}{}", register.number),
        None => name.to_owned(),
    }
}

/// The name of every variable.
pub(crate) fn of(module: &Module, body: &Body, variables: &Variables) -> Vec<String> {
    let registers = body.registers().values();
    let plain: Vec<String> = registers.map(|&r| spelling(module, body, r)).collect();
    let mut seen: HashMap<&str, u32> = HashMap::with_capacity(plain.len());
    let numbered = |name: &String, count: u32| match count {
        1 => name.clone(),
        _ => format!("{name}#{count}"),
    };
    let spellings = plain.iter().map(|name| {
        let count = seen.entry(name).or_insert(0);
        *count += 1;
        numbered(name, *count)
    });
    let spellings: Vec<String> = spellings.collect();
    let name = |variable: u32| {
        let place = variables.place(variable);
        let base = spellings.get(place.register.as_u32() as usize);
        let base = base.map_or("", String::as_str);
        let lane = place
            .lane
            .and_then(|l| ["x", "y", "z", "w"].get(usize::from(l)));
        match lane {
            Some(lane) => format!("{base}.{lane}"),
            None => base.to_owned(),
        }
    };
    (0..variables.len() as u32).map(name).collect()
}
