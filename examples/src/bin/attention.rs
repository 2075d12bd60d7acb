//! Prints the kernel of [`ptx_examples::attention`].

fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", ptx_examples::attention::kernel()?.text);
    Ok(())
}
