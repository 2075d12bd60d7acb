//! `cargo run -p ptx-codegen [-- --check]`: the tables of ptx-isa alone, without building what depends on them.

fn main() -> anyhow::Result<()> {
    let mode = match std::env::args().nth(1).as_deref() {
        None => ptx_codegen::Mode::Write,
        Some("--check") => ptx_codegen::Mode::Check,
        Some(other) => anyhow::bail!("unknown argument {other}; the only option is --check"),
    };
    ptx_codegen::run(mode).map(|_| ())
}
