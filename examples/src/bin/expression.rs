//! Prints the kernel of an expression: [`ptx_examples::expression`].

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).ok_or("which expression?")?;
    print!("{}", ptx_examples::expression::kernel(&text)?.text);
    Ok(())
}
