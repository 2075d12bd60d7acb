//! Tables of branch targets, with ranges of labels expanded: `case<3>` denotes `case0`, `case1`, `case2`.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::facts::FunctionFacts;
use ptx_ir::{Body, EntityId, LabelId, NameId, Operand, OperandRef, ScopeId};

/// Finds the targets of the tables of one function.
///
/// It keeps the labels of the function by name, once the first range needs them.
#[derive(Clone, Default, Debug)]
pub struct Tables<'a> {
    labels: Option<BTreeMap<&'a [u8], Vec<LabelId>>>,
}

impl<'a> Tables<'a> {
    /// The targets of the table with the label `table`, in order; `None` for an entry that is not recognized. `facts` must be those of the same function
    /// in each call. Linear in the targets.
    pub fn targets(&mut self, facts: FunctionFacts<'a>, table: LabelId) -> Vec<Option<LabelId>> {
        let body = facts.body();
        let mut targets = Vec::new();
        for &operand in facts.table(table).unwrap_or_default() {
            match operand {
                Operand::Label(label) => targets.push(Some(label)),
                Operand::Range(range) => {
                    let Some(range) = LabelRange::read(body, range) else {
                        targets.push(None);
                        continue;
                    };
                    let stem = facts.module().name_bytes(range.stem);
                    let scope = body.labels().get(table).map(|l| l.scope);
                    targets.extend((0..range.count).map(|number| {
                        let name = [stem, format!("{number}").as_bytes()].concat();
                        self.visible_label(facts, &name, scope?)
                    }));
                }
                _ => targets.push(None),
            }
        }
        targets
    }

    /// The label with a name that is visible in a scope.
    fn visible_label(
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
        enclosing_scopes(body, scope).find_map(|scope| {
            candidates.iter().copied().find(|&id| {
                let label = body.labels().get(id);
                label.is_some_and(|label| label.scope == scope)
            })
        })
    }
}

/// A range of labels, such as `case<3>`.
struct LabelRange {
    stem: NameId,
    count: usize,
}

impl LabelRange {
    /// Reads a range; `None` if it has more members than the function has labels, so that some of them do not exist.
    fn read(body: &Body, range: OperandRef) -> Option<Self> {
        let pair = body
            .pool()
            .operands()
            .get(range.index()..range.index() + 2)?;
        let &[Operand::Name(stem), Operand::Small(count)] = pair else {
            return None;
        };
        let count = usize::try_from(count).ok()?;
        (count <= body.labels().len()).then_some(Self { stem, count })
    }
}

/// The number of targets of a table.
pub(crate) fn size(body: &Body, list: &[Operand]) -> usize {
    list.iter()
        .map(|operand| match *operand {
            Operand::Range(range) => LabelRange::read(body, range).map_or(1, |range| range.count),
            _ => 1,
        })
        .fold(0, usize::saturating_add)
}

/// A scope and the scopes that enclose it, from the inside out.
fn enclosing_scopes(body: &Body, scope: ScopeId) -> impl Iterator<Item = ScopeId> + '_ {
    core::iter::successors(Some(scope), |&inner| {
        let outer = body.scope(inner)?.parent;
        (outer != inner).then_some(outer)
    })
}
