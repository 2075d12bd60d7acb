//! The kernels of all `.ptx` files in a folder, those with the most global memory accesses in loops first.
//!
//! `cargo run -p ptx-examples --bin survey -- FOLDER`

use ptx_examples::survey;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    let mut kernels = Vec::new();
    let files = survey::files(folder.as_ref())?;
    for file in &files {
        kernels.extend(survey::kernels(&std::fs::read(file)?));
    }
    kernels.sort_by_key(|k| std::cmp::Reverse(k.accesses_in_loops));
    println!("{} kernels in {} files", kernels.len(), files.len());
    for k in kernels.iter().take(20) {
        println!(
            "{}: {} accesses in {} loops up to {} deep, {} live registers, calls {} functions",
            k.name, k.accesses_in_loops, k.loops, k.depth, k.pressure, k.callees
        );
    }
    Ok(())
}
