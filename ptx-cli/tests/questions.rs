//! The commands of `docs/questions.md` print what the page says.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use std::path::Path;
use std::process::Command;

const PAGE: &str = include_str!("../../docs/questions.md");

/// The words of a command; quotes keep spaces together.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (nth, part) in command.split('\'').enumerate() {
        for (i, word) in part.split(' ').enumerate() {
            match (nth % 2, i) {
                (0, 1..) => words.push(word.to_owned()),
                (1, 1..) => words.last_mut().unwrap().push_str(&format!(" {word}")),
                _ => words.last_mut().unwrap().push_str(word),
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The lines of the first block of a kind.
fn block<'a>(section: &'a str, kind: &str) -> Option<Vec<&'a str>> {
    let (_, rest) = section.split_once(&format!("```{kind}\n"))?;
    Some(rest.split_once("```")?.0.lines().collect())
}

#[test]
fn every_question_is_answered_by_its_command() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let sections: Vec<&str> = PAGE.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), 22);
    let mut answered = 0;
    for (nth, section) in sections.into_iter().enumerate() {
        let title = section.lines().next().unwrap();
        assert!(title.starts_with(&format!("{}. ", nth + 1)), "{title}");
        let with_ptxas = block(section, "sh ptxas");
        let Some(commands) = with_ptxas.clone().or(block(section, "sh")) else {
            assert!(section.contains("\nNot answered yet"), "{title}");
            continue;
        };
        answered += 1;
        let ptxas = std::env::var("PTXAS").unwrap_or_default();
        if with_ptxas.is_some() && ptxas.is_empty() {
            continue;
        }
        let [command] = commands[..] else {
            panic!("{title}: one command")
        };
        let mut words = words(command);
        if let Some(path) = words.iter_mut().find(|word| *word == "ptxas") {
            *path = ptxas;
        }
        assert_eq!(words[0], "ptxkit", "{title}");
        let mut run = Command::new(env!("CARGO_BIN_EXE_ptxkit"));
        let output = run.args(&words[1..]).current_dir(&root).output().unwrap();
        let status = section.split_once("Exit status: ");
        let status = status.map_or("0", |(_, rest)| rest.lines().next().unwrap());
        assert_eq!(output.status.code().unwrap().to_string(), status, "{title}");
        let text = String::from_utf8(output.stdout).unwrap();
        let mut rest = text.as_str();
        let expected = block(section, "text").expect(title);
        assert!(!expected.is_empty(), "{title}");
        for line in expected {
            let at = rest.find(line);
            let at = at.unwrap_or_else(|| panic!("{title}: {line:?} is not in\n{rest}"));
            rest = &rest[at + line.len()..];
        }
    }
    assert!(answered >= 16, "{answered}");
}
