//! The files `corpus/compiled/programs/NAME.case`: launches and the expected results, a line for each step.

/// A step of a program.
pub enum Line {
    /// A file of `corpus/compiled` with the kernels.
    Module(String),
    /// A new buffer with a number of bytes, and the content of the first of these.
    Buffer(u64, Data),
    /// A new array of texels, and the content of its level 0.
    Array(Box<Array>),
    /// The texels of a level of an array.
    Level(Level, Data),
    /// A new texture of an array, with its properties.
    Texture(usize, Vec<(String, String)>),
    /// A new surface of a level of an array.
    Surface(Level),
    /// A new content of a variable of the module.
    Variable(String, Data),
    /// Bytes that the host writes into a buffer.
    Write(Pointer, Data),
    /// A number of bytes of a buffer that the host sets to a value.
    Fill(Pointer, usize, u8),
    /// A copy of some bytes of a buffer to another place.
    Copy {
        to: Pointer,
        from: Pointer,
        bytes: usize,
    },
    /// A launch.
    Launch(Box<Launch>),
    /// A part of the error of the next launch.
    Error(String),
    /// The output of the last launch.
    Output(Vec<u8>),
    /// The expected content of memory.
    Expect(Expected),
}

/// A launch of a kernel.
pub struct Launch {
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub cluster: [u32; 3],
    pub arguments: Vec<Data>,
}

/// An array of texels, as `ptx_vm::ArrayDescription::with_shape` describes it.
pub struct Array {
    pub geometry: String,
    pub shape: Vec<u64>,
    pub format: String,
    pub levels: u32,
    pub content: Data,
}

/// A level of an array of texels.
#[derive(Copy, Clone)]
pub struct Level {
    pub array: usize,
    pub level: u32,
}

/// A content: bytes and pointers to buffers.
pub type Data = Vec<Part>;

/// A part of a content.
pub enum Part {
    Bytes(Vec<u8>),
    /// The address of a byte of a buffer.
    Pointer(Pointer),
    /// The handle of a texture or a surface, by its number.
    Handle(usize),
}

/// A number of a buffer, and an offset in it.
#[derive(Copy, Clone)]
pub struct Pointer {
    pub buffer: usize,
    pub offset: u64,
}

/// The place of a result.
pub enum Place {
    Buffer(Pointer),
    Level(Level),
    Variable(String),
}

/// An expected content of memory.
pub struct Expected {
    pub place: Place,
    pub ty: Type,
    pub allowed: Allowed,
    pub data: Data,
}

/// The type of the compared elements.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Type {
    Bytes,
    F16,
    F32,
    F64,
}

/// The allowed difference between a result and that of the CPU.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Allowed {
    Exact,
    /// A fraction of the expected number.
    Relative(f64),
    Absolute(f64),
    /// A number of units in the last place.
    Ulps(u64),
}

/// The steps of a program.
pub fn parse(text: &str) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        lines.push(self::line(line).ok_or(format!("line {number}: {line:.60}"))?);
    }
    Ok(lines)
}

fn line(line: &str) -> Option<Line> {
    let (keyword, operands) = line.split_once(' ')?;
    let words: Vec<&str> = operands.split(' ').collect();
    Some(match (keyword, &words[..]) {
        ("module", [path]) => Line::Module((*path).into()),
        ("buffer", [bytes, content]) => Line::Buffer(bytes.parse().ok()?, data(content)?),
        ("array", [geometry, shape, format, levels, content]) => Line::Array(Box::new(Array {
            geometry: (*geometry).into(),
            shape: shape
                .split(',')
                .map(|n| n.parse().ok())
                .collect::<Option<_>>()?,
            format: (*format).into(),
            levels: levels.parse().ok()?,
            content: data(content)?,
        })),
        ("level", [array, level, content]) => {
            Line::Level(self::level(array, level)?, data(content)?)
        }
        ("texture", [array, properties]) => {
            let properties = properties.split(':').map(|property| {
                let (name, value) = property.split_once('=')?;
                Some((name.to_owned(), value.to_owned()))
            });
            Line::Texture(array.parse().ok()?, properties.collect::<Option<_>>()?)
        }
        ("surface", [array, level]) => Line::Surface(self::level(array, level)?),
        ("variable", [name, content]) => Line::Variable((*name).into(), data(content)?),
        ("write", [to, content]) => Line::Write(pointer(to)?, data(content)?),
        ("fill", [to, bytes, value]) => {
            Line::Fill(pointer(to)?, bytes.parse().ok()?, value.parse().ok()?)
        }
        ("copy", [to, from, bytes]) => Line::Copy {
            to: pointer(to)?,
            from: pointer(from)?,
            bytes: bytes.parse().ok()?,
        },
        ("launch", [kernel, grid, block, shared, cluster, arguments @ ..]) => {
            Line::Launch(Box::new(Launch {
                kernel: (*kernel).into(),
                grid: size(grid)?,
                block: size(block)?,
                shared: shared.parse().ok()?,
                cluster: size(cluster)?,
                arguments: arguments.iter().map(|a| data(a)).collect::<Option<_>>()?,
            }))
        }
        ("error", _) => Line::Error(operands.into()),
        ("output", [text]) => Line::Output(bytes(text)?),
        ("expect", [place, ty, allowed, content]) => Line::Expect(Expected {
            place: self::place(place)?,
            ty: self::ty(ty)?,
            allowed: self::allowed(allowed)?,
            data: data(content)?,
        }),
        _ => return None,
    })
}

/// A pointer, `#array+level`, or the name of a variable.
fn place(text: &str) -> Option<Place> {
    if let Some(pointer) = pointer(text) {
        return Some(Place::Buffer(pointer));
    }
    let Some(texels) = text.strip_prefix('#') else {
        return Some(Place::Variable(text.into()));
    };
    let (array, level) = texels.split_once('+')?;
    self::level(array, level).map(Place::Level)
}

fn level(array: &str, level: &str) -> Option<Level> {
    Some(Level {
        array: array.parse().ok()?,
        level: level.parse().ok()?,
    })
}

fn ty(name: &str) -> Option<Type> {
    Some(match name {
        "bytes" => Type::Bytes,
        "f16" => Type::F16,
        "f32" => Type::F32,
        "f64" => Type::F64,
        _ => return None,
    })
}

fn allowed(text: &str) -> Option<Allowed> {
    if text == "exact" {
        return Some(Allowed::Exact);
    }
    let (kind, number) = text.split_once(':')?;
    Some(match kind {
        "relative" => Allowed::Relative(number.parse().ok()?),
        "absolute" => Allowed::Absolute(number.parse().ok()?),
        "ulps" => Allowed::Ulps(number.parse().ok()?),
        _ => return None,
    })
}

fn size(text: &str) -> Option<[u32; 3]> {
    let sizes: Option<Vec<u32>> = text.split(',').map(|n| n.parse().ok()).collect();
    sizes?.try_into().ok()
}

/// `@buffer+offset`.
fn pointer(text: &str) -> Option<Pointer> {
    let (buffer, offset) = text.strip_prefix('@')?.split_once('+')?;
    Some(Pointer {
        buffer: buffer.parse().ok()?,
        offset: offset.parse().ok()?,
    })
}

/// Bytes in hexadecimal digits, and pointers and handles such as `#3`, each with a semicolon at the end.
fn data(mut text: &str) -> Option<Data> {
    let mut parts = Vec::new();
    while !text.is_empty() {
        let (digits, from_pointer) = text.split_at(text.find(['@', '#']).unwrap_or(text.len()));
        if !digits.is_empty() {
            parts.push(Part::Bytes(bytes(digits)?));
        }
        text = from_pointer;
        if let Some((pointer_text, after_pointer)) = from_pointer.split_once(';') {
            parts.push(match pointer_text.strip_prefix('#') {
                Some(handle) => Part::Handle(handle.parse().ok()?),
                None => Part::Pointer(pointer(pointer_text)?),
            });
            text = after_pointer;
        }
    }
    Some(parts)
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}
