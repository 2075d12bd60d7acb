//! Compares the results of an expression on the machine and on the CPU: [`ptx_examples::evaluate`].

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).ok_or("which expression?")?;
    let count = ptx_examples::evaluate::compare(&text)?;
    println!("{count} results are those of the CPU");
    Ok(())
}
