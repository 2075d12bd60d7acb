//! Textures, samplers and surfaces of a device with a kernel of variables.

use ptxkit::vm::{
    AddressMode, ArrayDescription, ArrayPart, ChannelType, Checker, Coordinates, Device, Extent,
    FilterMode, Launch, Machine, ReadMode, Sampler, TexelBox, TexelFormat, TextureDescription,
};

/// `[out]` is texel `%tid.x` of `image`.
const READER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\
    .global .texref image = { filter_mode = linear, normalized_coords = 0 };\n\
    .global .surfref target;\n\
    .visible .entry read()\n{\n\
    .reg .b32 %r<6>;\n\
    mov.u32 %r1, %tid.x;\n\
    tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [image, {%r1}];\n\
    sust.b.1d.b8.trap [target, {%r1}], %r2;\n\
    ret;\n}\n";

#[test]
fn a_machine_binds_variables() {
    let module = ptx_parse::parse_str(READER).into_result().unwrap();
    let mut machine = Machine::new(&module);
    let declared = machine.declared_sampler("image").unwrap();
    assert_eq!(declared.filter, FilterMode::Linear);
    assert!(declared.is_linear());
    let format = TexelFormat::new(ChannelType::U8, 1);
    let description = ArrayDescription::new(Extent::Line { width: 4 }, format);
    let [source, target] = [0; 2].map(|_| machine.create_array(&description).unwrap());
    machine.write_array(source, 0, &[1, 2, 3, 4]).unwrap();
    machine.set_array_written(target, 0).unwrap();
    let texture = machine
        .create_texture(source, &TextureDescription::default())
        .unwrap();
    let surface = machine.create_surface(target, 0).unwrap();
    machine.bind("image", texture).unwrap();
    machine.bind("target", surface).unwrap();
    let launch = Launch::new("read").shape(1, 4).check(Checker::Initcheck);
    machine.launch(&launch).unwrap();
    assert_eq!(machine.reports(), []);
    assert_eq!(machine.read_array(target, 0).unwrap(), [1, 2, 3, 4]);
    let part = TexelBox {
        level: 0,
        layer: None,
        start: [1, 0, 0],
        size: [2, 1, 1],
    };
    machine.set_absent(source, part).unwrap();
    machine.launch(&launch).unwrap();
    assert_eq!(machine.read_array(target, 0).unwrap(), [1, 0, 0, 4]);
}

#[test]
fn a_device_creates_all_kinds_of_objects() {
    let module = ptx_parse::parse_str(READER).into_result().unwrap();
    let mut device = Device::new();
    let loaded = device.load(&module).unwrap();
    assert!(device.declared_sampler(loaded, "target").is_none());
    ArrayDescription::check_geometry("acube").unwrap();
    let cubes = ArrayDescription::with_shape("acube", &[2, 6, 8, 8, 4], ChannelType::Unorm8);
    let cubes = cubes.unwrap().levels(4);
    assert_eq!(cubes.level(1).extent, Extent::Cube { edge: 4 });
    assert_eq!(cubes.level_bytes(3), 2 * 6 * 4);
    let array = device.create_array(&cubes).unwrap();
    let sampler = Sampler::default()
        .address_mode(AddressMode::Mirror)
        .filter(FilterMode::Linear)
        .normalized();
    let mut description = TextureDescription::new(sampler).normalized_float();
    description.set("range", "0,3").unwrap();
    assert_eq!(description.read_mode, ReadMode::NormalizedFloat);
    assert_eq!(description.sampler.coordinates, Coordinates::Normalized);
    let handles = [
        device.create_texture(array, &description).unwrap(),
        device.create_sampler(&sampler).unwrap(),
        device.create_surface(array, 2).unwrap(),
    ];
    assert!(handles[0] < handles[1] && handles[1] < handles[2]);
    let memory = device.allocate(256).unwrap();
    let format = TexelFormat::new("f32".parse().unwrap(), 1);
    assert_eq!((format.bytes(), format.channel.bits()), (4, 32));
    let points = TextureDescription::new(Sampler::default());
    let line = device
        .create_linear_texture(memory, 64, format, &points)
        .unwrap();
    let image = device.create_pitch_texture(memory, [5, 4], 32, format, &points);
    device.bind(loaded, "image", line).unwrap();
    device.bind(loaded, "image", image.unwrap()).unwrap();
    let error = device.bind(loaded, "target", line).unwrap_err();
    assert!(error.to_string().contains("found a texture"), "{error}");
    let own = device.load_on_own_pages(&module, 4096).unwrap();
    assert!(device.variable(own, "image").is_some());
    device.destroy_texture(handles[0]).unwrap();
    device.destroy_sampler(handles[1]).unwrap();
    device.destroy_surface(handles[2]).unwrap();
    device.destroy_array(array).unwrap();
    let layers = ArrayDescription::new(Extent::Line { width: 4 }, format).layers(3);
    assert!(device.create_array(&layers.samples(4)).is_err());
}

#[test]
fn a_texture_reads_a_part_of_an_array() {
    let module = ptx_parse::parse_str(READER).into_result().unwrap();
    let mut device = Device::new();
    let loaded = device.load(&module).unwrap();
    assert!(device.is_surface_variable(loaded, "target"));
    assert!(!device.is_surface_variable(loaded, "image"));
    let format = TexelFormat::new(ChannelType::U32, 1);
    let lines = ArrayDescription::new(Extent::Line { width: 4 }, format).layers(2);
    let array = device.create_array(&lines).unwrap();
    assert_eq!(lines.memory_bytes().unwrap(), 32);
    let (start, bytes) = device.array_memory(array).unwrap();
    assert_eq!(bytes, 32);
    assert_eq!(device.array_row(array, 0, 1, [0, 0]), Some(start + 16));
    let part = ArrayPart::levels(0..1)
        .layers(1..2)
        .format(TexelFormat::new(ChannelType::U8, 4));
    let points = TextureDescription::new(Sampler::default());
    let texture = device.create_texture_of_part(array, &part, &points);
    assert!(texture.is_ok());
}
