//! Runs the kernels of [`ptx_examples::rust`] in files that rustc emitted, and prints the instrumented module; `--only KERNEL` prints this kernel with
//! its dependencies instead.

use ptx_examples::rust::{KERNELS, PREFIX, compare, instrumented, module, numbers, on_machine};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let only = match arguments.first() {
        Some(first) if first == "--only" => Some(arguments.get(1).cloned().ok_or("which kernel?")?),
        _ => None,
    };
    let files: Vec<Vec<u8>> = arguments[if only.is_some() { 2 } else { 0 }..]
        .iter()
        .map(std::fs::read)
        .collect::<Result<_, _>>()?;
    if let Some(kernel) = only {
        let complete = module(&files, &[&kernel])?;
        compare(&complete, &kernel)?;
        print!("{}", String::from_utf8_lossy(complete.source()));
        return Ok(());
    }
    let complete = module(&files, &KERNELS)?;
    let checked = instrumented(&complete, &KERNELS)?;
    for kernel in KERNELS {
        compare(&complete, kernel)?;
        compare(&checked, &format!("{PREFIX}{kernel}"))?;
        eprintln!("{kernel}: the results are those of the host");
    }
    // An index beyond the row: the kernel panics.
    let mut wrong = numbers(40, 8);
    wrong[35 * 8] = 8;
    let error = on_machine(&complete, "follow_in_rows", &wrong, 8)
        .err()
        .ok_or("it does not panic")?;
    eprintln!("a panic: {error}");
    print!("{}", String::from_utf8_lossy(checked.source()));
    Ok(())
}
