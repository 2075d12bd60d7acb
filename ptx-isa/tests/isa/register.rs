use ptx_isa::{
    Action, Form, Opcode, ResultUniformity, Role, ScalarType, SpecialReg, Target, Uniformity,
};

#[test]
fn counts() {
    assert_eq!(SpecialReg::ALL.len(), 87);
    assert_eq!(SpecialReg::ALL.iter().filter(|r| r.is_vector()).count(), 8);
}

#[test]
fn facts() {
    assert_eq!(SpecialReg::Tid.scalar_type(), ScalarType::U32);
    assert_eq!(
        SpecialReg::IsExplicitCluster.scalar_type(),
        ScalarType::Pred
    );
    assert_eq!(SpecialReg::IsExplicitCluster.target(), Some(Target::Sm90));
    assert!(SpecialReg::Clock64.is_volatile() && !SpecialReg::Laneid.is_volatile());
}

#[test]
fn uniformity() {
    let expected = [
        (SpecialReg::Tid, Uniformity::Varying),
        (SpecialReg::Warpid, Uniformity::Warp),
        (SpecialReg::Ctaid, Uniformity::Cta),
        (SpecialReg::Clusterid, Uniformity::Cluster),
        (SpecialReg::Ntid, Uniformity::Grid),
    ];
    for (register, uniformity) in expected {
        assert_eq!(register.uniformity(), uniformity, "{register}");
    }
    // An index is the same in no larger group than the number of its values.
    for register in SpecialReg::ALL {
        if let Some(count) = register.index_of() {
            assert!(count.uniformity() < register.uniformity(), "{register}");
            assert_eq!(count.components(), register.components(), "{register}");
        }
    }
    assert_eq!(SpecialReg::Tid.index_of(), Some(SpecialReg::Ntid));
    let names: Vec<String> = Uniformity::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["grid", "cluster", "cta", "warp", "varying"]);
    let join = Uniformity::Cta.join(Uniformity::Grid);
    assert_eq!(join, Uniformity::Cta);
}

/// The uniformity of the first result of each form that performs an action.
fn results(action: Action) -> Vec<Option<ResultUniformity>> {
    let forms = Opcode::ALL.iter().flat_map(|o| o.instructions());
    let forms = forms.flat_map(|i| i.forms().iter());
    let of = |form: &&Form| {
        let result = form.operands().iter().position(|o| o.role() == Role::Def);
        form.result_uniformity(result?)
    };
    forms
        .filter(|f| f.action() == Some(action))
        .map(of)
        .collect()
}

#[test]
fn uniformity_of_results() {
    use ResultUniformity::{Group, LaneValue};
    let all = |action, uniformity| {
        let found = results(action);
        assert!(
            !found.is_empty() && found.iter().all(|f| *f == uniformity),
            "{action:?}: {found:?}"
        );
    };
    all(Action::Vote, Some(Group(Uniformity::Warp)));
    all(Action::BarrierReduce, Some(Group(Uniformity::Cta)));
    all(Action::Shuffle, Some(LaneValue));
    all(Action::MatrixMultiply, Some(Group(Uniformity::Varying)));
    all(Action::ToGeneric, None);
}
