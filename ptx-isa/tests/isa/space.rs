use ptx_isa::StateSpace;

#[test]
fn windows_lie_in_their_base() {
    assert_eq!(StateSpace::SharedCluster.base(), StateSpace::Shared);
    assert_eq!(StateSpace::ParamEntry.base(), StateSpace::Param);
    assert_eq!(StateSpace::Global.base(), StateSpace::Global);
    for &space in StateSpace::ALL {
        assert!(space.text().starts_with(space.base().text()));
        assert_eq!(
            space.modifier().and_then(|m| m.state_space()),
            space.modifier().map(|_| space)
        );
    }
}
