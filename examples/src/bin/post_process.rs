//! Changes the PTX of another compiler: see `post_process.rs`. `cargo run -p ptx-examples --bin post_process -- FILE…`

use ptx_examples::post_process::{LIBRARY, post_process};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let library = ptxkit::parse::parse_str(LIBRARY).into_result()?;
    for path in std::env::args_os().skip(1) {
        let (module, calls) = post_process(&std::fs::read(&path)?, &library)?;
        println!("{}\n// {calls} calls", ptxkit::print::display(&module));
    }
    Ok(())
}
