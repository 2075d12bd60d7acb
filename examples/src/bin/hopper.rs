//! Prints the kernel of [`ptx_examples::hopper`].

fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", ptx_examples::hopper::kernel()?.text);
    Ok(())
}
