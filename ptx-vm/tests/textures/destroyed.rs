//! Arrays, textures, samplers and surfaces that were destroyed.

use ptx_vm::{
    ArrayDescription, ChannelType, Checker, Device, Extent, Launch, RunError, Sampler, TexelFormat,
    TextureDescription,
};

const KERNELS: &str = ".version 8.0\n.target sm_90\n.address_size 64
.global .texref variable;
.visible .entry read(.param .u64 out, .param .u64 handle)
{
.reg .b32 %x, %r<5>; .reg .b64 %out, %handle;
ld.param.u64 %out, [out]; ld.param.u64 %handle, [handle]; mov.u32 %x, 1;
tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%handle, {%x}];
st.global.u32 [%out], %r1;
ret;
}
.visible .entry read_variable(.param .u64 out)
{
.reg .b32 %x, %r<5>; .reg .b64 %out;
ld.param.u64 %out, [out]; mov.u32 %x, 2;
tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [variable, {%x}];
st.global.u32 [%out], %r1;
ret;
}
.visible .entry write(.param .u64 handle)
{
.reg .b32 %x; .reg .b64 %handle;
ld.param.u64 %handle, [handle]; mov.u32 %x, 4;
sust.b.1d.b32.trap [%handle, {%x}], {9};
ret;
}
";

fn line(width: u32) -> ArrayDescription {
    let format = TexelFormat::new(ChannelType::U32, 1);
    ArrayDescription::new(Extent::Line { width }, format)
}

/// A device with the kernels, a line of four texels and a result.
struct Experiment<'m> {
    device: Device<'m>,
    module: ptx_vm::ModuleId,
    array: ptx_vm::Array,
    out: u64,
}

impl<'m> Experiment<'m> {
    fn new(module: &'m ptx_ir::Module) -> Self {
        let mut device = Device::new();
        let id = device.load(module).unwrap();
        let array = device.create_array(&line(4)).unwrap();
        let texels: Vec<u8> = [5u32, 6, 7, 8]
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        device.write_array(array, 0, &texels).unwrap();
        let out = device.allocate(4).unwrap();
        Self {
            device,
            module: id,
            array,
            out,
        }
    }

    fn texture(&mut self) -> u64 {
        let description = TextureDescription::new(Sampler::default());
        self.device
            .create_texture(self.array, &description)
            .unwrap()
    }

    fn launch(&mut self, kernel: &str, arguments: &[u64], check: bool) -> Result<u32, RunError> {
        let mut launch = Launch::new(kernel);
        for argument in arguments {
            launch = launch.argument(argument.to_le_bytes());
        }
        if check {
            launch = launch.check(Checker::Memcheck);
        }
        self.device.launch(self.module, &launch)?;
        Ok(self.device.read_slice(self.out, 1)?[0])
    }

    fn read(&mut self, texture: u64) -> Result<u32, RunError> {
        self.launch("read", &[self.out, texture], false)
    }
}

fn module() -> ptx_ir::Module {
    ptx_parse::parse_str(KERNELS).into_result().unwrap()
}

#[test]
fn a_destroyed_texture_cannot_be_used() {
    let module = module();
    let mut experiment = Experiment::new(&module);
    let [first, second] = [experiment.texture(), experiment.texture()];
    assert_eq!(experiment.read(first).unwrap(), 6);
    experiment.device.destroy_texture(first).unwrap();
    let third = experiment.texture();
    assert_ne!(third, first);
    for texture in [second, third] {
        assert_eq!(experiment.read(texture).unwrap(), 6);
    }
    let expected = format!(
        "expected the handle of a texture, a sampler or a surface, found {first:#x}, whose object was destroyed"
    );
    assert_eq!(
        experiment.read(first).unwrap_err().reason.to_string(),
        expected
    );
    let device = &mut experiment.device;
    let error = device.bind(experiment.module, "variable", first);
    assert_eq!(error.unwrap_err().to_string(), expected);
    let error = device.destroy_texture(first).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("expected the handle of a texture, found {first:#x}, whose object was destroyed")
    );
}

#[test]
fn objects_of_another_kind_are_not_destroyed() {
    let module = module();
    let mut experiment = Experiment::new(&module);
    let texture = experiment.texture();
    let device = &mut experiment.device;
    let sampler = device.create_sampler(&Sampler::default()).unwrap();
    let surface = device.create_surface(experiment.array, 0).unwrap();
    for (error, expected, handle, found) in [
        (
            device.destroy_texture(sampler),
            "a texture",
            sampler,
            ", that of a sampler",
        ),
        (
            device.destroy_sampler(surface),
            "a sampler",
            surface,
            ", that of a surface",
        ),
        (
            device.destroy_surface(texture),
            "a surface",
            texture,
            ", that of a texture",
        ),
        (device.destroy_surface(7), "a surface", 7, ""),
        (
            device.destroy_surface(texture + 8),
            "a surface",
            texture + 8,
            "",
        ),
        (
            device.destroy_surface(surface + 16),
            "a surface",
            surface + 16,
            "",
        ),
    ] {
        let expected = format!("expected the handle of {expected}, found {handle:#x}{found}");
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
    device.destroy_sampler(sampler).unwrap();
    device.destroy_surface(surface).unwrap();
    device.destroy_texture(texture).unwrap();
    for error in [
        device.destroy_sampler(sampler),
        device.destroy_surface(surface),
        device.destroy_texture(texture),
    ] {
        assert!(
            error
                .unwrap_err()
                .to_string()
                .ends_with("whose object was destroyed")
        );
    }
}

#[test]
fn a_variable_keeps_the_texture_that_it_is_bound_to() {
    let module = module();
    let mut experiment = Experiment::new(&module);
    let texture = experiment.texture();
    experiment
        .device
        .bind(experiment.module, "variable", texture)
        .unwrap();
    experiment.device.destroy_texture(texture).unwrap();
    let out = experiment.out;
    assert_eq!(
        experiment.launch("read_variable", &[out], false).unwrap(),
        7
    );
}

#[test]
fn memory_of_a_destroyed_array_is_used_again() {
    let module = module();
    let mut experiment = Experiment::new(&module);
    let texture = experiment.texture();
    let device = &mut experiment.device;
    let surface = device.create_surface(experiment.array, 0).unwrap();
    device.destroy_array(experiment.array).unwrap();
    let errors = [
        device.destroy_array(experiment.array).unwrap_err(),
        device
            .write_array(experiment.array, 0, &[0; 16])
            .unwrap_err(),
        device.read_array(experiment.array, 0).unwrap_err(),
        device.set_array_written(experiment.array, 0).unwrap_err(),
    ];
    for error in errors {
        assert!(
            error.to_string().contains("the array was destroyed"),
            "{error}"
        );
    }
    let description = TextureDescription::new(Sampler::default());
    let error = device
        .create_texture(experiment.array, &description)
        .unwrap_err();
    assert_eq!(error.to_string(), "the array was destroyed");
    let out = experiment.out;
    for (kernel, arguments) in [("read", &[out, texture][..]), ("write", &[surface])] {
        let _ = experiment.launch(kernel, arguments, true);
        let [report] = experiment.device.reports() else {
            panic!("{:?}", experiment.device.reports());
        };
        assert!(
            report.message.contains("freed by the host"),
            "{}",
            report.message
        );
    }
    // A new array has the memory.
    let device = &mut experiment.device;
    let array = device.create_array(&line(4)).unwrap();
    assert_eq!(device.read_array(array, 0).unwrap(), [0; 16]);
    device.write_array(array, 0, &[1; 16]).unwrap();
    assert_eq!(experiment.read(texture).unwrap(), 0x0101_0101);
}

#[test]
fn many_objects_may_be_created_and_destroyed() {
    let module = module();
    let mut experiment = Experiment::new(&module);
    let first = experiment.texture();
    let mut handles = std::collections::HashSet::new();
    for _ in 0..20_000 {
        let texture = experiment.texture();
        experiment.device.destroy_texture(texture).unwrap();
        handles.insert(texture);
    }
    assert!(!handles.contains(&first));
    assert!((4096..4200).contains(&handles.len()), "{}", handles.len());
    let start = experiment.device.allocate(1).unwrap();
    for _ in 0..20_000 {
        let array = experiment.device.create_array(&line(1 << 10)).unwrap();
        experiment.device.destroy_array(array).unwrap();
    }
    let end = experiment.device.allocate(1 << 20).unwrap();
    assert!(end - start < 1 << 20, "{}", end - start);
    assert_eq!(experiment.read(first).unwrap(), 6);
}

#[test]
fn a_snapshot_has_objects_that_are_destroyed_later() {
    let module = module();
    let mut experiment = Experiment::new(&module);
    let texture = experiment.texture();
    let snapshot = experiment.device.snapshot();
    experiment.device.destroy_texture(texture).unwrap();
    experiment.device.destroy_array(experiment.array).unwrap();
    assert!(experiment.read(texture).is_err());
    experiment.device.restore(&snapshot);
    assert_eq!(experiment.read(texture).unwrap(), 6);
}
