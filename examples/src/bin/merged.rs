//! Prints the kernel of [`ptx_examples::merged`].

fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", ptx_examples::merged::kernel()?.text);
    Ok(())
}
