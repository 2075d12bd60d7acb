//! Prints the kernel of [`ptx_examples::saxpy`].

fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", ptx_examples::saxpy::kernel()?.text);
    Ok(())
}
