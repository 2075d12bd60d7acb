//! Queries, variables for textures, samplers and surfaces, their declared properties, and parameters of these types.

use ptx_vm::{
    AddressMode, ArrayDescription, ChannelType, Coordinates, Extent, FilterMode, Launch, Machine,
    Sampler, StopReason, TexelFormat, TextureDescription,
};

/// Runs a body that writes words to `%out`.
fn run(
    target: &str,
    before: &str,
    parameters: &str,
    body: &str,
    set_up: impl FnOnce(&mut Machine<'_>) -> Vec<u64>,
) -> Result<Vec<u32>, StopReason> {
    let text = format!(
        ".version 8.0\n.target {target}\n.address_size 64\n{before}
.visible .entry k(.param .u64 data{parameters})
{{
.reg .pred %p<4>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %d<8>, %out;
ld.param.u64 %out, [data];
{body}
ret;
}}
"
    );
    let parsed = ptx_parse::parse_str(&text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let mut machine = Machine::new(&parsed.module);
    assert_eq!(machine.unsupported().next(), None, "{text}");
    let out = machine.allocate(256).unwrap();
    let handles = set_up(&mut machine);
    let mut launch = Launch::new("k").argument(out.to_le_bytes());
    for handle in handles {
        launch = launch.argument(handle.to_le_bytes());
    }
    machine.launch(&launch).map_err(|error| error.reason)?;
    Ok(machine.read_slice(out, 64).unwrap())
}

/// The body that writes properties of objects one after the other.
fn queries(all: &[&str]) -> String {
    let mut body = String::new();
    for (index, query) in all.iter().enumerate() {
        let (name, object) = query.split_once(' ').unwrap();
        body.push_str(&format!(
            "{name}.b32 %r1, [{object}];\nst.global.u32 [%out+{}], %r1;\n",
            4 * index
        ));
    }
    body
}

#[test]
fn queries_return_properties_of_objects() {
    let all = [
        "txq.width %d1",
        "txq.height %d1",
        "txq.depth %d1",
        "txq.channel_data_type %d1",
        "txq.channel_order %d1",
        "txq.normalized_coords %d1",
        "txq.array_size %d1",
        "txq.num_mipmap_levels %d1",
        "txq.num_samples %d1",
        "txq.filter_mode %d1",
        "txq.addr_mode_0 %d1",
        "txq.addr_mode_1 %d1",
        "txq.addr_mode_2 %d1",
        "suq.width %d2",
        "suq.height %d2",
        "suq.depth %d2",
        "suq.array_size %d2",
        "suq.memory_layout %d2",
        "suq.channel_data_type %d2",
        "suq.channel_order %d2",
    ];
    let loads = "ld.param.u64 %d1, [texture]; ld.param.u64 %d2, [surface];\n";
    let further = "txq.level.width.b32 %r1, [%d1], 1; st.global.u32 [%out+80], %r1;
        mov.u32 %r2, 2; txq.level.height.b32 %r1, [%d1], %r2; st.global.u32 [%out+84], %r1;";
    let body = format!("{loads}{}{further}", queries(&all));
    let parameters = ", .param .u64 texture, .param .u64 surface";
    let words = run("sm_90", "", parameters, &body, |machine| {
        let extent = Extent::Image {
            width: 12,
            height: 6,
        };
        let description = ArrayDescription::new(extent, TexelFormat::new(ChannelType::U8, 2))
            .layers(5)
            .levels(3);
        let array = machine.create_array(&description).unwrap();
        let mut sampler = Sampler::default().filter(FilterMode::Linear).normalized();
        sampler.address_modes = [
            AddressMode::Mirror,
            AddressMode::Wrap,
            AddressMode::ClampToBorder,
        ];
        let texture = TextureDescription::new(sampler).normalized_float();
        vec![
            machine.create_texture(array, &texture).unwrap(),
            machine.create_surface(array, 1).unwrap(),
        ]
    });
    let expected = [
        12, 6, 1, 0x10d2, 0x10b2, 1, 5, 3, 0, 1, 1, 0, 4, 6, 3, 1, 5, 0, 0x10da, 0x10b2, 6, 1,
    ];
    assert_eq!(words.unwrap()[..22], expected);
}

const DECLARED: &str = ".global .texref t = { width = 256, height = 128, addr_mode_0 = mirror, filter_mode = linear, normalized_coords = 1 };
.global .samplerref s = { addr_mode_0 = wrap, addr_mode_1 = clamp_to_border, filter_mode = linear, force_unnormalized_coords = 1 };
.global .surfref f = { width = 64, channel_order = 4272 };
.global .texref many[3];\n";

#[test]
fn variables_have_declared_properties() {
    let unified = DECLARED.replace("force_unnormalized_coords", "normalized_coords");
    assert_ne!(unified, DECLARED);
    let all = [
        "txq.width t",
        "txq.height t",
        "txq.addr_mode_0 t",
        "txq.addr_mode_1 s",
        "txq.filter_mode s",
        "txq.force_unnormalized_coords s",
        "suq.width f",
        "suq.channel_order f",
    ];
    let words = run(
        "sm_90, texmode_independent",
        DECLARED,
        "",
        &queries(&all),
        |machine| {
            let sampler = machine.declared_sampler("s").unwrap();
            assert_eq!(
                sampler.address_modes[..2],
                [AddressMode::Wrap, AddressMode::ClampToBorder]
            );
            assert_eq!(
                (sampler.filter, sampler.coordinates),
                (FilterMode::Linear, Coordinates::Texels)
            );
            let texture = machine.declared_sampler("t").unwrap();
            assert_eq!(
                (texture.filter, texture.coordinates),
                (FilterMode::Linear, Coordinates::Normalized)
            );
            assert_eq!(machine.declared_sampler("f"), None);
            vec![]
        },
    );
    assert_eq!(words.unwrap()[..8], [256, 128, 1, 4, 1, 1, 64, 0x10b0]);
}

/// A texture with one texel.
fn texture(machine: &mut Machine<'_>, number: f32) -> u64 {
    let extent = Extent::Line { width: 1 };
    let description = ArrayDescription::new(extent, TexelFormat::new(ChannelType::F32, 1));
    let array = machine.create_array(&description).unwrap();
    machine
        .write_array(array, 0, &number.to_le_bytes())
        .unwrap();
    machine
        .create_texture(array, &TextureDescription::default())
        .unwrap()
}

#[test]
fn variables_are_bound_by_name() {
    let body = "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {0}];
        st.global.f32 [%out], %f1;
        mov.u64 %d1, t; tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {0}];
        st.global.f32 [%out+4], %f1;
        mov.u64 %d1, many; add.u64 %d1, %d1, 16;
        tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {0}];
        st.global.f32 [%out+8], %f1;";
    let before = ".global .texref t; .global .texref many[3];";
    let words = run("sm_90", before, "", body, |machine| {
        let [first, second] = [1.5, 2.5].map(|number| texture(machine, number));
        machine.bind("t", first).unwrap();
        machine.bind("many[2]", second).unwrap();
        vec![]
    });
    let words = words.unwrap();
    assert_eq!([0, 1, 2].map(|n| f32::from_bits(words[n])), [1.5, 1.5, 2.5]);
    let error = run("sm_90", before, "", body, |_| vec![]).unwrap_err();
    assert_eq!(
        error,
        StopReason::Invalid("`t` is not bound to a texture".into())
    );
    run("sm_90", before, "", "", |machine| {
        let sampler = machine.create_sampler(&Sampler::default()).unwrap();
        for (name, handle, part) in [
            (
                "t",
                sampler,
                "`t` is a variable for a texture, found a sampler",
            ),
            ("x", sampler, "no variable `x`"),
            ("many[3]", sampler, "no variable `many[3]`"),
            ("t", 7, "found 0x7"),
        ] {
            let error = machine.bind(name, handle).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        vec![]
    })
    .unwrap();
}

#[test]
fn old_modules_declare_variables_in_a_separate_space() {
    let text = ".version 1.4\n.target sm_13\n.tex .u32 t;\n.entry k(.param .u64 data)\n{
        .reg .f32 %f<5>; .reg .s32 %r<2>; .reg .u64 %out;
        ld.param.u64 %out, [data]; mov.s32 %r1, 0;
        tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1, %r1, %r1, %r1}];
        st.global.f32 [%out], %f1;\nexit;\n}\n";
    let parsed = ptx_parse::parse_str(text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let mut machine = Machine::new(&parsed.module);
    let out = machine.allocate(4).unwrap();
    let handle = texture(&mut machine, 3.5);
    machine.bind("t", handle).unwrap();
    machine
        .launch(&Launch::new("k").argument(out.to_le_bytes()))
        .unwrap();
    assert_eq!(machine.read_slice::<f32>(out, 1).unwrap(), [3.5]);
}

#[test]
fn parameters_hold_handles() {
    let parameters = ", .param .texref t, .param .samplerref s, .param .surfref f";
    let body = "tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, s, {0f3F000000}];
        st.global.f32 [%out], %f1;
        suq.width.b32 %r1, [f];
        st.global.u32 [%out+4], %r1;
        mov.u64 %d1, s; txq.filter_mode.b32 %r1, [%d1];
        st.global.u32 [%out+8], %r1;";
    let words = run(
        "sm_90, texmode_independent",
        "",
        parameters,
        body,
        |machine| {
            let texture = texture(machine, 4.5);
            let sampler = machine
                .create_sampler(&Sampler::default().filter(FilterMode::Linear))
                .unwrap();
            let description = ArrayDescription::new(
                Extent::Line { width: 9 },
                TexelFormat::new(ChannelType::U8, 1),
            );
            let array = machine.create_array(&description).unwrap();
            vec![texture, sampler, machine.create_surface(array, 0).unwrap()]
        },
    );
    let words = words.unwrap();
    assert_eq!((f32::from_bits(words[0]), words[1], words[2]), (4.5, 9, 1));
}

#[test]
fn types_of_pointers_are_tested() {
    let mut body = String::new();
    let mut offset = 0;
    for object in ["t", "s", "f", "n"] {
        if object == "n" {
            body.push_str("mov.u64 %d1, 12345;\n");
        } else {
            body.push_str(&format!("mov.u64 %d1, {object};\n"));
        }
        for ty in ["texref", "samplerref", "surfref"] {
            body.push_str(&format!(
                "istypep.{ty} %p1, %d1; selp.u32 %r1, 1, 0, %p1; st.global.u32 [%out+{offset}], %r1;\n"
            ));
            offset += 4;
        }
    }
    let words = run(
        "sm_90, texmode_independent",
        DECLARED,
        "",
        &body,
        |_| vec![],
    )
    .unwrap();
    assert_eq!(words[..12], [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
}
