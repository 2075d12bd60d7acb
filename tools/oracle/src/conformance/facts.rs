//! Test: the facts of an instruction are known if and only if the instruction is legal on some target in some version.

#[cfg(test)]
mod tests {
    use ptx_ir::facts::ModuleFacts;
    use ptx_ir::raw::query::{Mnemonic, Queries};
    use ptx_ir::{Body, InstId, Module as IrModule, Operand};
    use ptx_isa::internals::FormMatch;
    use ptx_isa::internals::TargetSet;
    use ptx_isa::{PtxVersion, Target};

    use super::super::case::Setting;
    use super::super::preamble::Module;
    use super::super::verdicts::{BASE, NEWER};
    use crate::sample::sample;

    /// Whether some operand is an immediate, also inside an address, a vector or a pair.
    fn has_immediate(body: &Body, operands: &[Operand]) -> bool {
        operands.iter().any(|&operand| match operand {
            Operand::Small(_) | Operand::Imm(_) => true,
            Operand::Vector(list) | Operand::Bracket(list) => {
                has_immediate(body, body.pool().list(list))
            }
            Operand::Not(id) | Operand::Neg(id) => has_immediate(body, &[body.pool().get(id)]),
            Operand::Pair(id) => {
                let (first, second) = body.pool().pair(id);
                has_immediate(body, &[first, second])
            }
            _ => false,
        })
    }

    /// Whether the tables accept an instruction on some target in some version, without a cache.
    fn is_legal_somewhere(
        module: &IrModule,
        queries: &mut Queries<()>,
        body: &Body,
        id: InstId,
    ) -> bool {
        let sig = body.inst(id).unwrap().sig;
        let Some(mnemonic) = Mnemonic::of(module, sig) else {
            return false;
        };
        let legal = queries.ask(body, &mnemonic, body.operands(id), |query| {
            let mut legal = query
                .candidates()
                .filter(|form| form.violations().is_empty());
            let has_target = |form: &FormMatch<'_>| {
                let mut versions = PtxVersion::KNOWN.iter().rev();
                versions.any(|v| form.targets(*v) != TargetSet::NONE)
            };
            legal.any(|form| has_target(&form))
        });
        legal == Some(true)
    }

    #[test]
    fn facts_of_immediates_are_known_where_they_are_legal() {
        let sample = sample(8, 4);
        let mut wrong = Vec::new();
        let mut checked = 0;
        for (set, target) in [(&BASE, Target::Sm100a), (&NEWER, Target::Sm107a)] {
            let verdicts = set.read().unwrap();
            for setting in Setting::ALL {
                let lines = verdicts.iter().filter(|v| v.setting == setting);
                let lines = sample.of(lines);
                let text = Module::new(set.newest(), target, setting, lines.map(|v| &*v.line)).text;
                checked += check(&text, &mut wrong);
            }
        }
        assert!(
            checked > 10_000 / sample.parts,
            "only {checked} cases have an immediate"
        );
        let (count, some) = (wrong.len(), &wrong[..wrong.len().min(20)]);
        assert_eq!(count, 0, "of {checked}: {some:#?}");
    }

    /// Checks the instructions with an immediate and returns their number.
    fn check(text: &str, wrong: &mut Vec<String>) -> usize {
        let module = ptx_parse::parse(text.as_bytes()).module;
        let facts = ModuleFacts::new(&module);
        let mut queries = Queries::new(&module);
        let mut checked = 0;
        for (function, _, body) in module.definitions() {
            queries.enter(&module, function, body);
            let facts = facts.function(function).unwrap();
            for id in body.inst_table().ids() {
                if !has_immediate(body, body.operands(id)) {
                    continue;
                }
                checked += 1;
                let is_known = facts.inst(id).is_known();
                if is_known != is_legal_somewhere(&module, &mut queries, body, id) {
                    let sig = body.inst(id).unwrap().sig;
                    wrong.push(format!(
                        "known: {is_known}, {}",
                        module.signature(sig).text()
                    ));
                }
            }
        }
        checked
    }
}
