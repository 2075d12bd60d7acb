use ptx_isa::Directive;
use ptx_isa::internals::{DirectivePosition, Ending};

#[test]
fn endings() {
    for d in [
        Directive::Version,
        Directive::Target,
        Directive::Entry,
        Directive::Loc,
        Directive::Maxntid,
    ] {
        assert_eq!(d.ending(), Ending::Open, "{d}");
    }
    for d in [
        Directive::Pragma,
        Directive::Alias,
        Directive::Branchtargets,
        Directive::Global,
    ] {
        assert_eq!(d.ending(), Ending::Semicolon, "{d}");
    }
    assert!(Directive::Maxntid.is_allowed_in(DirectivePosition::Entry));
    assert!(!Directive::Maxntid.is_allowed_in(DirectivePosition::Func));
}
