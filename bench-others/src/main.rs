//! `bench-others CRATE FILE SECONDS`: reads a file with another crate for that many seconds and prints
//! best and median seconds, or `refused` and why.

use std::hint::black_box;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, file, seconds] = arguments.as_slice() else {
        return Err("usage: bench-others CRATE FILE SECONDS".into());
    };
    let budget = Duration::from_secs_f64(seconds.parse()?);
    let text = std::fs::read_to_string(file)?;
    // Some of these parsers recurse.
    let reader = std::thread::Builder::new().stack_size(1 << 30);
    let name = name.clone();
    let said = reader.spawn(move || match name.as_str() {
        "ptx-syntax" => time(budget, || ptx_syntax::parse_ptx(&text)),
        "singe-ptx" => time(budget, || singe_ptx::parser::parse_module(&text)),
        _ => "refused\tno such crate".to_owned(),
    })?;
    println!("{}", said.join().map_err(|_| "the parser panicked")?);
    Ok(())
}

/// Reads again and again; what is read is dropped between measurements.
fn time<T, E: std::fmt::Display>(budget: Duration, read: impl Fn() -> Result<T, E>) -> String {
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < 3 || start.elapsed() < budget {
        let begin = Instant::now();
        let result = black_box(read());
        times.push(begin.elapsed());
        if let Err(e) = result {
            let message = e.to_string();
            let line = message.lines().next().unwrap_or_default();
            return format!("refused\t{}", line.chars().take(160).collect::<String>());
        }
        // One slow reading is enough.
        if start.elapsed() > budget * 10 {
            break;
        }
    }
    times.sort();
    format!(
        "{}\t{}",
        times[0].as_secs_f64(),
        times[times.len() / 2].as_secs_f64()
    )
}
