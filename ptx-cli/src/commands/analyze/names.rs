//! What registers are called: as they are written, with `#2` and so on behind further ones of the same name.

use std::collections::HashMap;

use ptx_analysis::variables::Variables;
use ptx_ir::{Body, Module, Register};

/// The spelling of a register.
fn spelling(module: &Module, body: &Body, register: Register) -> String {
    let Some(decl) = body.reg_decls.get(register.decl) else {
        return String::new();
    };
    let name = module.name(decl.name);
    match decl.count {
        Some(_) => format!("{name}{}", register.number),
        None => name.to_owned(),
    }
}

/// The name of every variable as a JSON string.
pub(crate) fn of(module: &Module, body: &Body, variables: &Variables) -> Vec<Vec<u8>> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    // Only where there are inner scopes can two registers have one name.
    let unique = body.inner_scopes.is_empty();
    let spellings = body.registers.values().map(|&register| {
        let mut name = spelling(module, body, register);
        if !unique {
            let count = seen.entry(name.clone()).or_insert(0);
            *count += 1;
            if *count > 1 {
                name = format!("{name}#{count}");
            }
        }
        name
    });
    let spellings: Vec<String> = spellings.collect();
    let name = |variable: u32| {
        let place = variables.place(variable);
        let base = spellings.get(place.register.as_u32() as usize);
        let base = base.map_or("", String::as_str);
        let lane = place
            .lane
            .and_then(|l| ["x", "y", "z", "w"].get(usize::from(l)));
        let text = match lane {
            Some(lane) => format!("{base}.{lane}"),
            None => base.to_owned(),
        };
        serde_json::to_vec(&text).unwrap_or_else(|_| b"\"\"".to_vec())
    };
    (0..variables.len() as u32).map(name).collect()
}
