//! Tables of labels with their ranges expanded: `case<3>` denotes `case0`, `case1`, `case2`.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::facts::FunctionFacts;
use ptx_ir::{Body, EntityId, LabelId, NameId, Operand, OperandRef, ScopeId};

/// The targets of the tables of one function.
///
/// It has the labels of the function by name, which are looked up when the first range is met.
#[derive(Clone, Default, Debug)]
pub struct Tables<'a> {
    labels: Option<BTreeMap<&'a [u8], Vec<LabelId>>>,
}

impl<'a> Tables<'a> {
    /// The targets of the table that `table` names, in order; `None` for what is not recognized. `facts` are those of the same function
    /// each time. Linear in the targets.
    pub fn targets(&mut self, facts: FunctionFacts<'a>, table: LabelId) -> Vec<Option<LabelId>> {
        let body = facts.body();
        let mut targets = Vec::new();
        for &operand in facts.table(table).unwrap_or_default() {
            match operand {
                Operand::Label(label) => targets.push(Some(label)),
                Operand::Range(at) => {
                    let Some((name, count)) = range(body, at) else {
                        targets.push(None);
                        continue;
                    };
                    let base = facts.module().name_bytes(name);
                    let scope = body.labels().get(table).map(|l| l.scope);
                    targets.extend((0..count).map(|n| {
                        let member = [base, format!("{n}").as_bytes()].concat();
                        self.visible(facts, &member, scope?)
                    }));
                }
                _ => targets.push(None),
            }
        }
        targets
    }

    /// The label of a name that is seen from a scope.
    fn visible(
        &mut self,
        facts: FunctionFacts<'a>,
        name: &[u8],
        scope: ScopeId,
    ) -> Option<LabelId> {
        let body = facts.body();
        let labels = self.labels.get_or_insert_with(|| {
            let mut labels: BTreeMap<&[u8], Vec<LabelId>> = BTreeMap::new();
            for (id, label) in body.labels().iter() {
                let name = facts.module().name_bytes(label.name);
                labels.entry(name).or_default().push(id);
            }
            labels
        });
        let candidates = labels.get(name)?;
        around(body, scope).find_map(|scope| {
            let here = |id: &&LabelId| body.labels().get(**id).is_some_and(|l| l.scope == scope);
            candidates.iter().find(here).copied()
        })
    }
}

/// The name and the count of a range; `None` if it has more members than there are labels: then not all can be set.
fn range(body: &Body, at: OperandRef) -> Option<(NameId, usize)> {
    let pair = body.pool().operands().get(at.index()..at.index() + 2)?;
    let &[Operand::Name(name), Operand::Small(count)] = pair else {
        return None;
    };
    let count = usize::try_from(count).ok()?;
    (count <= body.labels().len()).then_some((name, count))
}

/// How many targets a table has.
pub(crate) fn size(body: &Body, list: &[Operand]) -> usize {
    let members = |operand: &Operand| match *operand {
        Operand::Range(at) => range(body, at).map_or(1, |(_, count)| count),
        _ => 1,
    };
    list.iter().map(members).fold(0, usize::saturating_add)
}

/// A scope and those around it, from inside out.
fn around(body: &Body, scope: ScopeId) -> impl Iterator<Item = ScopeId> + '_ {
    core::iter::successors(Some(scope), |&inner| {
        let outer = body.scope(inner)?.parent;
        (outer != inner).then_some(outer)
    })
}
