//! A plain mutation loop: `run TARGET [--seconds N] [--seed N]`. A text that breaks a promise is
//! kept in `artifacts/`, also if the target does not come back from it within ten seconds.

use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{env, fs, panic, process, thread};

use ptx_fuzz::TARGETS;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let option = |name: &str, default: u64| {
        let at = args.iter().position(|a| a == name);
        at.and_then(|i| args.get(i + 1)?.parse().ok())
            .unwrap_or(default)
    };
    let name = args.first().map_or("", String::as_str);
    let Some(target) = ptx_fuzz::target(name) else {
        eprintln!(
            "usage: run TARGET [--seconds N] [--seed N]; targets: {:?}",
            TARGETS.iter().map(|t| t.0).collect::<Vec<_>>()
        );
        return ExitCode::from(2);
    };
    let seeds: Vec<Vec<u8>> = match ptx_fuzz::saved(name) {
        Ok(saved) => saved.into_iter().map(|(_, text)| text).collect(),
        Err(e) => {
            eprintln!("no saved texts: {e}");
            return ExitCode::from(2);
        }
    };
    let current = Arc::new(Mutex::new((Instant::now(), Vec::new())));
    watch(name.to_string(), current.clone());
    let time = Duration::from_secs(option("--seconds", 60));
    let result = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        ptx_fuzz::run(target, &seeds, time, option("--seed", 1), |text| {
            if let Ok(mut current) = current.lock() {
                *current = (Instant::now(), text.to_vec());
            }
        })
    }));
    match result {
        Ok(tried) => {
            println!("{name}: {tried} texts, no promise broken");
            ExitCode::SUCCESS
        }
        Err(_) => {
            keep(name, &current);
            ExitCode::FAILURE
        }
    }
}

/// Ends the process if one text takes too long.
fn watch(name: String, current: Arc<Mutex<(Instant, Vec<u8>)>>) {
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_secs(1));
            let late = current
                .lock()
                .is_ok_and(|c| c.0.elapsed() > Duration::from_secs(10));
            if late {
                eprintln!("{name} does not come back");
                keep(&name, &current);
                process::exit(1);
            }
        }
    });
}

fn keep(name: &str, current: &Mutex<(Instant, Vec<u8>)>) {
    let Ok(current) = current.lock() else { return };
    let file = format!("artifacts/{name}-{}.ptx", process::id());
    let kept = fs::create_dir_all("artifacts").and_then(|()| fs::write(&file, &current.1));
    match kept {
        Ok(()) => eprintln!("the text is kept in {file}"),
        Err(e) => eprintln!("cannot keep the text: {e}"),
    }
}
