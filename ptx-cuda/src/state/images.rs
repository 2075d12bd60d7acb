//! Code as programs pass it: PTX, and files with several PTX modules, of which the best one for the device is used.

use std::fmt;

use ptx_container::{DEFAULT_LIMIT, EntryKind, InputFormat};
use ptx_ir::{Module, Severity};
use ptx_isa::Target;
use ptx_verify::Options;

use crate::caller;
use crate::status::Status;

/// The reason why code cannot be loaded.
#[derive(Debug)]
pub(crate) struct LoadError {
    pub(crate) status: Status,
    /// The text for the log of the program and for the standard error.
    pub(crate) message: String,
}

impl LoadError {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Whether the device executes code for a target.
fn runs(device: Target, target: Target) -> bool {
    device.implies(target)
}

/// The error for code without PTX that the device executes, and with something else.
fn no_ptx(device: Target, others: &str) -> LoadError {
    let number = device.number();
    let has_nvrtc = (caller::loaded_libraries().iter()).any(|path| path.contains("libnvrtc.so"));
    let hint = if has_nvrtc {
        ", or run the program with `ptxkit exec --replace nvrtc` if NVRTC compiled it"
    } else {
        ""
    };
    LoadError::new(
        Status::NO_BINARY_FOR_GPU,
        format!(
            "the code has no PTX that {device} executes, only: {others}. Machine code cannot run: compile with PTX, for example `nvcc -gencode \
             arch=compute_{number},code=compute_{number}`{hint}"
        ),
    )
}

/// The text of the PTX in an image that is best for the device: the newest target that it executes.
pub(crate) fn ptx_of(image: &[u8], device: Target) -> Result<Vec<u8>, LoadError> {
    let format = InputFormat::of(image);
    if !format.is_container() {
        if image.starts_with(b"\x7fELF") {
            return Err(no_ptx(device, "machine code"));
        }
        let end = image.iter().position(|byte| *byte == 0);
        return Ok(image[..end.unwrap_or(image.len())].to_vec());
    }
    let mut best: Option<(u16, Vec<u8>)> = None;
    let mut others = Vec::new();
    for entry in ptx_container::entries(image) {
        let entry = entry.map_err(|error| {
            LoadError::new(
                Status::INVALID_IMAGE,
                format!("the code cannot be read: {error}"),
            )
        })?;
        let name = entry.target();
        let target: Option<Target> = name.parse().ok();
        let usable =
            target.filter(|target| entry.kind() == EntryKind::Ptx && runs(device, *target));
        let Some(target) = usable else {
            others.push(format!("{} for {name}", entry.kind()));
            continue;
        };
        if best
            .as_ref()
            .is_none_or(|(number, _)| *number < target.number())
        {
            let content = entry.content(image, DEFAULT_LIMIT).map_err(|error| {
                LoadError::new(
                    Status::INVALID_IMAGE,
                    format!("the code cannot be read: {error}"),
                )
            })?;
            best = Some((target.number(), content.into_owned()));
        }
    }
    match best {
        Some((_, text)) => {
            let end = text.iter().position(|byte| *byte == 0);
            Ok(text[..end.unwrap_or(text.len())].to_vec())
        }
        None if others.is_empty() => Err(no_ptx(device, "nothing")),
        None => Err(no_ptx(device, &others.join(", "))),
    }
}

/// Parses PTX.
pub(crate) fn parse(text: &[u8], device: Target) -> Result<Module, LoadError> {
    let parsed = ptx_parse::parse(text);
    let errors: Vec<String> = parsed.errors().map(|d| d.render("PTX", text)).collect();
    if !errors.is_empty() {
        return Err(LoadError::new(Status::INVALID_PTX, errors.join("\n")));
    }
    let header = parsed.module.header();
    // As for the driver's compiler, addresses have 64 bits if the module does not say it.
    if header.address_size.is_some_and(|bits| bits != 64) {
        let message = "the PTX has 32-bit addresses; the device has 64-bit addresses";
        return Err(LoadError::new(Status::INVALID_IMAGE, message));
    }
    match header.target {
        Some(target) if !runs(device, target) => Err(LoadError::new(
            Status::NO_BINARY_FOR_GPU,
            format!(
                "the PTX is for {target}, the device is {device} (`--cc` of `ptxkit exec` changes it)"
            ),
        )),
        _ => Ok(parsed.module),
    }
}

/// Parses and checks PTX, as the driver's compiler does.
pub(crate) fn compile(text: &[u8], device: Target) -> Result<Module, LoadError> {
    let module = parse(text, device)?;
    let diagnostics = ptx_verify::verify(&module, &Options::default());
    let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
    let errors: Vec<String> = errors.map(|d| d.render("PTX", text)).collect();
    if errors.is_empty() {
        Ok(module)
    } else {
        Err(LoadError::new(Status::INVALID_PTX, errors.join("\n")))
    }
}
