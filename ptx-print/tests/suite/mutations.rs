//! Damaged texts: whatever happens to a file, reading stays total and exact, and a text that is
//! still without errors has a stable canonical form. `PTXKIT_CASES` asks for another number of
//! cases a file, `PTXKIT_SEED` for another seed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use test_support::mutate::{self, Random};
use test_support::sample::{cases, seed};
use test_support::{check, corpus};

/// Small files, valid and broken ones, the shortest first.
fn seeds(count: usize, most: u64) -> Vec<(String, Vec<u8>)> {
    let mut files = corpus::small(most);
    files.extend(
        corpus::entries(&corpus::own())
            .into_iter()
            .filter(|e| e.verdict != "ok"),
    );
    let mut texts: Vec<_> = files
        .into_iter()
        .map(|f| (f.name.clone(), f.read()))
        .collect();
    texts.retain(|(_, t)| t.len() as u64 <= most);
    texts.sort_by_key(|(name, t)| (t.len(), name.clone()));
    let step = (texts.len() / count).max(1);
    texts.into_iter().step_by(step).collect()
}

/// Checks a text; a failure shows the smallest part of its lines that still fails.
fn check_text(watcher: &Sender<Vec<u8>>, name: &str, text: &[u8]) {
    let _ = watcher.send(text.to_vec());
    if holds(text) {
        return;
    }
    let small = shrink(text.to_vec());
    println!(
        "damaged {name}, made smaller:\n{}\n{small:?}",
        String::from_utf8_lossy(&small)
    );
    check::everything(&small);
}

/// Ends the process if the same text is at work for long: reading has to end.
fn watcher() -> Sender<Vec<u8>> {
    let (sender, receiver) = channel::<Vec<u8>>();
    std::thread::spawn(move || {
        let mut current = Vec::new();
        loop {
            match receiver.recv_timeout(Duration::from_secs(60)) {
                Ok(text) => current = text,
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                    let text = String::from_utf8_lossy(&current);
                    eprintln!("no end with this text:\n{text}\n{current:?}");
                    std::process::exit(101);
                }
            }
        }
    });
    sender
}

fn holds(text: &[u8]) -> bool {
    catch_unwind(AssertUnwindSafe(|| check::everything(text))).is_ok()
}

/// Leaves out ever smaller pieces as long as the text still fails.
fn shrink(mut text: Vec<u8>) -> Vec<u8> {
    std::panic::set_hook(Box::new(|_| {}));
    let mut size = text.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < text.len() {
            let end = (at + size).min(text.len());
            let shorter = [&text[..at], &text[end..]].concat();
            if holds(&shorter) {
                at += size;
            } else {
                text = shorter;
            }
        }
        size /= 2;
    }
    let _ = std::panic::take_hook();
    text
}

fn damage(usual: usize, count: usize, change: impl Fn(&mut Vec<u8>, &mut Random)) {
    let mut random = Random::new(seed() + 1);
    let seeds = seeds(count, 3000);
    assert!(!seeds.is_empty(), "no small files in the corpus");
    let watcher = watcher();
    for (name, seed) in &seeds {
        for _ in 0..cases(usual) {
            let mut text = seed.clone();
            for _ in 0..=random.below(4) {
                change(&mut text, &mut random);
            }
            check_text(&watcher, name, &text);
        }
    }
}

#[test]
fn changed_bytes() {
    damage(12, 120, mutate::bytes);
}

#[test]
fn changed_tokens() {
    damage(12, 120, mutate::tokens);
}

#[test]
fn truncated() {
    let mut random = Random::new(seed() + 2);
    let watcher = watcher();
    for (name, seed) in seeds(120, 3000) {
        for _ in 0..cases(6) {
            let at = random.below(seed.len() + 1);
            check_text(&watcher, &name, &seed[..at]);
            check_text(&watcher, &name, &seed[at..]);
        }
    }
}

#[test]
fn put_together() {
    let mut random = Random::new(seed() + 3);
    let watcher = watcher();
    let seeds = seeds(120, 3000);
    for (name, first) in &seeds {
        for _ in 0..cases(3) {
            let (_, second) = random.pick(&seeds);
            check_text(&watcher, name, &[first.as_slice(), second].concat());
            let (a, b) = (
                random.below(first.len() + 1),
                random.below(second.len() + 1),
            );
            check_text(&watcher, name, &[&first[..a], &second[b..]].concat());
        }
    }
}
