//! Prints the kernel of [`ptx_examples::matmul`].

fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", ptx_examples::matmul::kernel()?.text);
    Ok(())
}
