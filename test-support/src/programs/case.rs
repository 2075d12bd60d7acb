//! What to launch and what to expect: `corpus/compiled/programs/NAME.case`, a line per step.

/// A step of a program.
pub enum Line {
    /// A file with the kernels, of `corpus/compiled`.
    Module(String),
    /// A new buffer with a number of bytes that begins with a content.
    Buffer(u64, Data),
    /// What a variable of the module is set to.
    Variable(String, Data),
    /// Bytes that the host writes into a buffer.
    Write(Pointer, Data),
    /// A byte that the host writes into some bytes of a buffer.
    Fill(Pointer, usize, u8),
    /// A copy of some bytes of a buffer to another place.
    Copy {
        to: Pointer,
        from: Pointer,
        bytes: usize,
    },
    /// A launch.
    Launch(Box<Launch>),
    /// What the next launch fails with.
    Error(String),
    /// What the last launch printed.
    Output(Vec<u8>),
    /// What memory has.
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

/// Bytes that have pointers to buffers among them.
pub type Data = Vec<Part>;

/// A part of a content.
pub enum Part {
    Bytes(Vec<u8>),
    /// The address of a byte of a buffer.
    Pointer(Pointer),
}

/// A buffer, by its number, and an offset.
#[derive(Copy, Clone)]
pub struct Pointer {
    pub buffer: usize,
    pub offset: u64,
}

/// Where results are.
pub enum Place {
    Buffer(Pointer),
    Variable(String),
}

/// What memory has after the launches.
pub struct Expected {
    pub place: Place,
    pub ty: Type,
    pub allowed: Allowed,
    pub data: Data,
}

/// How elements are compared.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Type {
    Bytes,
    F16,
    F32,
    F64,
}

/// How far a result may be from that of the CPU.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Allowed {
    Exact,
    /// A part of the expected number.
    Relative(f64),
    Absolute(f64),
    /// Steps of the last place.
    Ulps(u64),
}

/// The steps of a program.
pub fn parse(text: &str) -> Result<Vec<Line>, String> {
    let lines = text.lines().enumerate();
    lines
        .map(|(n, line)| self::line(line).ok_or(format!("line {}: {line:.60}", n + 1)))
        .collect()
}

fn line(line: &str) -> Option<Line> {
    let (keyword, rest) = line.split_once(' ')?;
    let words: Vec<&str> = rest.split(' ').collect();
    Some(match (keyword, &words[..]) {
        ("module", [path]) => Line::Module((*path).into()),
        ("buffer", [bytes, content]) => Line::Buffer(bytes.parse().ok()?, data(content)?),
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
        ("error", _) => Line::Error(rest.into()),
        ("output", [text]) => Line::Output(bytes(text)?),
        ("expect", [place, ty, allowed, content]) => Line::Expect(Expected {
            place: match pointer(place) {
                Some(pointer) => Place::Buffer(pointer),
                None => Place::Variable((*place).into()),
            },
            ty: self::ty(ty)?,
            allowed: self::allowed(allowed)?,
            data: data(content)?,
        }),
        _ => return None,
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

/// Bytes in hexadecimal digits, and pointers that end with a semicolon.
fn data(text: &str) -> Option<Data> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find('@').unwrap_or(rest.len());
        if digits > 0 {
            parts.push(Part::Bytes(bytes(&rest[..digits])?));
        }
        rest = &rest[digits..];
        if let Some((first, others)) = rest.split_once(';') {
            parts.push(Part::Pointer(pointer(first)?));
            rest = others;
        }
    }
    Some(parts)
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}
