//! The requirements of a function are those of the module that contains only the function.

use ptx_ir::{Item, Module};
use ptx_isa::{Directive, PtxVersion, Target};
use ptx_transform::extract;
use ptx_verify::requires;
use test_support::corpus;

/// The lowest version on each target that has everything.
type Lowest = Vec<Option<PtxVersion>>;

/// The requirements of a kernel, in its module and in a module of only what it uses; `None` if there is no such module.
fn compared(module: &Module, name: &str) -> Option<[Lowest; 2]> {
    let part = extract(module, &[name]).unwrap();
    let alone = ptx_parse::parse(part.text()).module;
    let mut start = None;
    for (id, item) in alone.items() {
        match item {
            Item::Function(_) if start.is_none() => start = Some(alone.span(id).start),
            Item::Directive(id) => {
                let directive = alone.directives().get(id)?.directive;
                if !matches!(
                    directive,
                    Directive::Version | Directive::Target | Directive::AddressSize
                ) {
                    return None;
                }
            }
            _ => return None,
        }
    }
    // The reasons that are not in the header of the module.
    let needs = requires(&alone);
    let reasons: Vec<_> = needs
        .reasons()
        .iter()
        .filter(|reason| Some(reason.span().start) >= start)
        .collect();
    let lowest_alone = |target: Target| {
        let first = Some(target.min_version());
        reasons.iter().try_fold(first?, |version, reason| {
            Some(version.max(reason.availability().lowest(target)?))
        })
    };
    let id = module.function(name)?;
    let whole = requires(module);
    let (_, availability) = whole.functions().iter().find(|(other, _)| *other == id)?;
    let lowest = |target: &Target| availability.lowest(*target);
    Some([
        Target::ALL.iter().map(lowest).collect(),
        Target::ALL
            .iter()
            .map(|target| lowest_alone(*target))
            .collect(),
    ])
}

#[test]
fn functions_require_what_the_module_with_only_the_function_requires() {
    let mut count = 0;
    for entry in corpus::small(20_000) {
        let parsed = ptx_parse::parse(&entry.read());
        if parsed.has_errors() {
            continue;
        }
        let module = &parsed.module;
        for (_, function, _) in module.definitions() {
            let name = module.name(function.name);
            if let Some([in_module, alone]) = compared(module, name) {
                assert_eq!(in_module, alone, "{}: {name}", entry.name);
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count} kernels");
}

#[test]
fn headers_and_declarations_of_functions_have_requirements() {
    let cases = [
        (
            ".entry k() .reqnctapercluster 2, 1, 1 { ret; }",
            Target::Sm90,
            "7.8",
            Some(Target::Sm80),
        ),
        (
            ".entry k() { .reg .b128 x; ret; }",
            Target::Sm80,
            "8.3",
            None,
        ),
        (
            ".entry k() .maxntid 32, 1, 1 { ret; }",
            Target::Sm10,
            "1.3",
            None,
        ),
    ];
    for (kernel, target, version, without) in cases {
        let text = format!(
            ".version 8.7\n.target sm_90\n.address_size 64\n.entry before() {{ griddepcontrol.wait; ret; }}\n{kernel}\n"
        );
        let module = ptx_parse::parse_str(&text).module;
        let [in_module, alone] = compared(&module, "k").unwrap();
        assert_eq!(in_module, alone, "{kernel}");
        let lowest = |target| {
            let index = Target::ALL.iter().position(|other| *other == target);
            in_module[index.unwrap()].map(|version| version.to_string())
        };
        assert_eq!(lowest(target).as_deref(), Some(version), "{kernel}");
        assert!(
            without.is_none_or(|target| lowest(target).is_none()),
            "{kernel}"
        );
        let needs = requires(&module);
        let uses: Vec<usize> = needs
            .reasons_of(module.function("k").unwrap())
            .map(|(_, span)| span.start as usize)
            .collect();
        let start = text.find(kernel).unwrap();
        assert!(!uses.is_empty(), "{kernel}");
        assert!(
            uses.iter().all(|position| *position >= start),
            "{kernel}: {uses:?}"
        );
    }
}
