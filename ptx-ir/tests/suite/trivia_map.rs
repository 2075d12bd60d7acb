//! Which comments belong to which item.

use ptx_ir::Span;
use ptx_ir::raw::trivia_map::TriviaMap;

fn pieces(text: &str) -> Vec<(String, String)> {
    let module = ptx_parse::parse_str(text).module;
    let map = TriviaMap::of_module(&module);
    let of = |span: Span| String::from_utf8_lossy(span.of(text.as_bytes())).into_owned();
    let extents = (0..module.item_table().len()).map(|i| map.extent(i));
    extents
        .map(|e| {
            let free = Span::new(e.leading.start, e.attached);
            (of(free), of(e.removal()))
        })
        .collect()
}

#[test]
fn comments_belong_to_what_is_below_or_before_them() {
    let text = "// head\n\n.version 8.0\n.target sm_80 // gpu\n\n// free\n\n\n// of a\n/* too */\n.global .u32 a; // a\n.global .u32 b; /* b\n*/ .global .u32 c;\n// end\n";
    let found = pieces(text);
    let expected = [
        ("// head\n", "\n.version 8.0\n"),
        ("", ".target sm_80 // gpu\n"),
        (
            "\n// free\n",
            "\n\n// of a\n/* too */\n.global .u32 a; // a\n",
        ),
        ("", ".global .u32 b; /* b\n*/ "),
        ("", ".global .u32 c;\n"),
    ];
    let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (&**a, &**b)).collect();
    assert_eq!(found, expected);
}

#[test]
fn extents_tile_the_source() {
    let text = "\u{feff}.version 8.0 .target sm_80\r\n\r\n//x\r\n.func f() { ret; } .func g();";
    let module = ptx_parse::parse_str(text).module;
    let map = TriviaMap::of_module(&module);
    let mut at = map.head().end;
    for i in 0..module.item_table().len() {
        let e = map.extent(i);
        assert_eq!(e.leading.start, at);
        assert!(e.leading.start <= e.attached && e.attached <= e.statement.start);
        at = e.trailing.end;
    }
    assert_eq!(map.tail().start, at);
}
