//! Reads `types.isa`, `targets.isa`, `registers.isa`, `directives.isa` and `modifiers.isa`.

use std::collections::HashMap;

use super::rows::{
    ClassRow, DirectiveRow, ModifierRow, OptionRow, RegisterRow, SpaceRow, TargetRow, TypeRow,
    Version, VersionRow,
};
use super::source::{Cursor, Error, Line, Pos, Result, expand};

/// Everything the vocabulary files say.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    pub(crate) types: Vec<TypeRow>,
    pub(crate) spaces: Vec<SpaceRow>,
    pub(crate) versions: Vec<VersionRow>,
    pub(crate) judged: Version,
    pub(crate) families: Vec<Vec<u16>>,
    pub(crate) targets: Vec<TargetRow>,
    pub(crate) target_options: Vec<OptionRow>,
    pub(crate) registers: Vec<RegisterRow>,
    pub(crate) directives: Vec<DirectiveRow>,
    pub(crate) classes: Vec<ClassRow>,
    pub(crate) modifiers: Vec<ModifierRow>,
    /// Instructions on which certain words have no effect.
    pub(crate) ignored_on: Vec<(String, Vec<String>, Pos)>,
    /// Where each word of each kind was first written, to name the other place when it comes again.
    seen: HashMap<(&'static str, String), Pos>,
}

const KINDS: &[&str] = &[
    "signed",
    "unsigned",
    "float",
    "fixed",
    "bits",
    "predicate",
    "opaque",
    "packed",
    "format",
];
const REGISTER_CLASSES: &[&str] = &["pred", "8", "16", "32", "64", "128"];
const DECLARABLE: &[&str] = &["register", "memory", "parameter"];
const PLACES: &[&str] = &[
    "module",
    "body",
    "label",
    "entry",
    "func",
    "prototype",
    "declaration",
    "parameter",
    "section",
];
pub(crate) const TYPE_CLASS: &str = "type";
/// Layouts of data are told apart among themselves, not from types.
pub(crate) const FORMAT_CLASS: &str = "format";
pub(crate) const SPACE_CLASS: &str = "space";

impl Vocabulary {
    pub(crate) fn read(&mut self, lines: &[Line]) -> Result<()> {
        let mut class = None;
        for line in lines {
            let mut c = Cursor::new(line);
            if line.indent > 0 {
                let Some(class) = class else {
                    return c.error("an indented line belongs to a `class`, and none is open");
                };
                self.modifier_words(&mut c, class)?;
                continue;
            }
            class = None;
            let keyword = c.word("a keyword")?;
            match keyword.as_str() {
                "type" => self.type_row(&mut c)?,
                "space" => self.space_row(&mut c)?,
                "version" => self.version_row(&mut c)?,
                "judged" => self.judged = c.version()?,
                "family" => self.family_row(&mut c)?,
                "target" => self.target_row(&mut c)?,
                "option" => self.option_row(&mut c)?,
                "sreg" => self.register_row(&mut c)?,
                "directive" => self.directive_row(&mut c)?,
                "class" => class = Some(self.class_row(&mut c)?),
                "ignored" | "doubled" => self.marks(&mut c, &keyword)?,
                _ => {
                    return Cursor::new(line).expected(
                        "`type`, `space`, `version`, `judged`, `family`, `target`, `option`, `sreg`, `directive`, `class`, `ignored` or `doubled`",
                    );
                }
            }
            c.end()?;
        }
        Ok(())
    }

    /// Checks what only the whole vocabulary can show, and adds the words of types and spaces to the modifiers.
    pub(crate) fn finish(&mut self) -> anyhow::Result<()> {
        for (class, meaning) in [
            (TYPE_CLASS, "type"),
            (FORMAT_CLASS, "data format"),
            (SPACE_CLASS, "state space"),
        ] {
            let index = self.classes.len();
            self.classes.push(ClassRow {
                name: class.into(),
                positional: true,
                meaning: meaning.into(),
            });
            let types = |formats: bool| {
                self.types
                    .iter()
                    .filter(move |t| (t.kind == "format") == formats)
            };
            let words: Vec<String> = match class {
                TYPE_CLASS => types(false).map(|t| t.name.clone()).collect(),
                FORMAT_CLASS => types(true).map(|t| t.name.clone()).collect(),
                _ => self
                    .spaces
                    .iter()
                    .filter(|s| s.modifier)
                    .map(|s| s.name.clone())
                    .collect(),
            };
            for text in words {
                anyhow::ensure!(
                    !self.modifiers.iter().any(|m| m.text == text),
                    "modifiers.isa: {text} is in types.isa already"
                );
                self.modifiers.push(ModifierRow {
                    text,
                    class: index,
                    ignored: false,
                    doubled: false,
                });
            }
        }
        for text in self.marked_ignored() {
            let Some(row) = self.modifiers.iter_mut().find(|m| m.text == text) else {
                anyhow::bail!("modifiers.isa: {text} is marked as ignored and has no class");
            };
            row.ignored = true;
        }
        Ok(())
    }

    fn marked_ignored(&self) -> Vec<String> {
        let mut marked: Vec<String> = self
            .seen
            .keys()
            .filter(|(kind, _)| *kind == "ignored")
            .map(|(_, text)| text.clone())
            .collect();
        marked.sort();
        marked
    }

    fn once(&mut self, kind: &'static str, name: &str, pos: Pos) -> Result<()> {
        if let Some(first) = self.seen.insert((kind, name.to_string()), pos.clone()) {
            return Err(Error {
                pos,
                message: format!("{kind} {name} is defined at {first} already"),
            });
        }
        Ok(())
    }

    fn type_row(&mut self, c: &mut Cursor) -> Result<()> {
        let pos = c.pos();
        let name = c.word("a type such as .u32")?;
        self.once("type", &name, pos)?;
        let kind = one_of(c, KINDS)?;
        let bits = c.number("a number of bits")?;
        let packed = if c.eat_word("of") {
            let element = c.word("the type of an element")?;
            c.expect("x")?;
            Some((element, c.number("a number of elements")?))
        } else {
            None
        };
        let register = if c.eat_word("reg") {
            Some(one_of(c, REGISTER_CLASSES)?)
        } else {
            None
        };
        let mut declare = Vec::new();
        if c.eat_word("declare") {
            while DECLARABLE.contains(&c.peek_word().as_str()) {
                declare.push(c.word("a kind of declaration")?);
            }
        }
        let (since, target) = if c.peek_word() == "since" {
            since(c)?
        } else {
            ((1, 0), None)
        };
        self.types.push(TypeRow {
            name,
            kind,
            bits,
            packed,
            register,
            declare,
            since,
            target,
        });
        Ok(())
    }

    fn space_row(&mut self, c: &mut Cursor) -> Result<()> {
        let pos = c.pos();
        let name = c.word("a state space such as .global")?;
        self.once("space", &name, pos)?;
        let addressable = c.eat_word("addressable");
        let modifier = c.eat_word("modifier");
        let within = if c.eat_word("within") {
            Some(c.word("a state space")?)
        } else {
            None
        };
        let since = if c.eat_word("since") {
            c.version()?
        } else {
            (1, 0)
        };
        self.spaces.push(SpaceRow {
            name,
            addressable,
            modifier,
            within,
            since,
        });
        Ok(())
    }

    fn version_row(&mut self, c: &mut Cursor) -> Result<()> {
        let version = c.version()?;
        if self
            .versions
            .last()
            .is_some_and(|last| last.version >= version)
        {
            return c.error("versions go upwards");
        }
        let mut texts = [None, None];
        for text in &mut texts {
            if !c.at_end() {
                *text = Some(c.string("a release in quotes")?).filter(|t| !t.is_empty());
            }
        }
        let [toolkit, driver] = texts;
        self.versions.push(VersionRow {
            version,
            toolkit,
            driver,
        });
        Ok(())
    }

    fn family_row(&mut self, c: &mut Cursor) -> Result<()> {
        let mut family = Vec::new();
        while !c.at_end() {
            family.push(c.number("the number of a chip")?);
        }
        self.families.push(family);
        Ok(())
    }

    fn target_row(&mut self, c: &mut Cursor) -> Result<()> {
        let pos = c.pos();
        let name = c.word("a target such as sm_90")?;
        self.once("target", &name, pos)?;
        let digits = name.strip_prefix("sm_").unwrap_or("");
        let suffix = digits.chars().last().filter(|s| matches!(s, 'a' | 'f'));
        let Ok(number) = digits.trim_end_matches(['a', 'f']).parse() else {
            return c.error(format!("{name} is not of the form sm_N, sm_Na or sm_Nf"));
        };
        if !c.eat_word("since") {
            return c.expected("`since`");
        }
        let since = c.version()?;
        let renamed = if c.eat_word("renamed") {
            let to = c.word("the new name")?;
            if !c.eat_word("until") {
                return c.expected("`until`");
            }
            Some((to, c.version()?))
        } else {
            None
        };
        self.targets.push(TargetRow {
            name,
            number,
            suffix,
            since,
            renamed,
        });
        Ok(())
    }

    fn option_row(&mut self, c: &mut Cursor) -> Result<()> {
        let pos = c.pos();
        let name = c.word("an option of .target")?;
        self.once("option", &name, pos)?;
        let (since, target) = since(c)?;
        self.target_options.push(OptionRow {
            name,
            since,
            target,
        });
        Ok(())
    }

    fn register_row(&mut self, c: &mut Cursor) -> Result<()> {
        let pos = c.pos();
        let pattern = c.pattern("a special register such as %tid")?;
        let vector = c.eat_word("v4");
        let ty = c.word("a type")?;
        let volatile = c.eat_word("volatile");
        let short = c.eat_word("short");
        let (since, target) = since(c)?;
        let Some(names) = expand(&pattern) else {
            return Err(Error {
                pos,
                message: format!("cannot read the range in {pattern}"),
            });
        };
        for name in names {
            self.once("special register", &name, pos.clone())?;
            let (ty, target) = (ty.clone(), target.clone());
            self.registers.push(RegisterRow {
                name,
                vector,
                ty,
                volatile,
                short,
                since,
                target,
            });
        }
        Ok(())
    }

    fn directive_row(&mut self, c: &mut Cursor) -> Result<()> {
        let pos = c.pos();
        let name = c.word("a directive such as .version")?;
        self.once("directive", &name, pos)?;
        let section = c.string("a section in quotes")?;
        if !c.eat_word("in") {
            return c.expected("`in`");
        }
        let mut places = vec![one_of(c, PLACES)?];
        while PLACES.contains(&c.peek_word().as_str()) {
            places.push(one_of(c, PLACES)?);
        }
        let ending = match c.peek_word().as_str() {
            "semicolon" | "open" => c.word("an ending")?,
            _ => "part".to_string(),
        };
        let takes = if c.eat_word("takes") {
            let least = c.number("the least number of arguments")?;
            let most = if c.eat_word("to") {
                c.number("the greatest number of arguments")?
            } else {
                least
            };
            Some((least, most))
        } else {
            None
        };
        let (since, target) = since(c)?;
        let until = if c.eat_word("until") {
            Some(c.version()?)
        } else {
            None
        };
        self.directives.push(DirectiveRow {
            name,
            section,
            places,
            ending,
            takes,
            since,
            target,
            until,
        });
        Ok(())
    }

    fn class_row(&mut self, c: &mut Cursor) -> Result<usize> {
        let pos = c.pos();
        let name = c.word("the name of a class")?;
        self.once("class", &name, pos)?;
        let positional = one_of(c, &["set", "positional"])? == "positional";
        let meaning = c.string("what the class chooses, in quotes")?;
        self.classes.push(ClassRow {
            name,
            positional,
            meaning,
        });
        Ok(self.classes.len() - 1)
    }

    fn modifier_words(&mut self, c: &mut Cursor, class: usize) -> Result<()> {
        while !c.at_end() {
            let pos = c.pos();
            let pattern = c.pattern("a modifier")?;
            let Some(words) = expand(&pattern).filter(|_| pattern.starts_with('.')) else {
                return Err(Error {
                    pos,
                    message: format!("expected a modifier such as .rn, found {pattern}"),
                });
            };
            for text in words {
                self.once("modifier", &text, pos.clone())?;
                self.modifiers.push(ModifierRow {
                    text,
                    class,
                    ignored: false,
                    doubled: false,
                });
            }
        }
        Ok(())
    }

    /// `ignored WORD… [on NAME…]` and `doubled WORD…`
    fn marks(&mut self, c: &mut Cursor, mark: &str) -> Result<()> {
        let mut words = Vec::new();
        while c.peek_char() == Some('.') {
            let pos = c.pos();
            words.push((c.word("a modifier")?, pos));
        }
        if mark == "ignored" && c.eat_word("on") {
            while !c.at_end() {
                let pos = c.pos();
                let name = c.word("the name of an instruction")?;
                let words = words.iter().map(|(word, _)| word.clone()).collect();
                self.ignored_on.push((name, words, pos));
            }
            return Ok(());
        }
        for (text, pos) in words {
            if mark == "ignored" {
                self.once("ignored", &text, pos)?;
            } else if let Some(row) = self.modifiers.iter_mut().find(|m| m.text == text) {
                row.doubled = true;
            } else {
                return Err(Error {
                    pos,
                    message: format!("{text} is in no class"),
                });
            }
        }
        Ok(())
    }
}

fn since(c: &mut Cursor) -> Result<(Version, Option<String>)> {
    if !c.eat_word("since") {
        return c.expected("`since`");
    }
    let version = c.version()?;
    let target = if c.peek_word().starts_with("sm_") {
        Some(c.word("a target")?)
    } else {
        None
    };
    Ok((version, target))
}

/// One of a few fixed words.
pub(crate) fn one_of(c: &mut Cursor, words: &[&str]) -> Result<String> {
    let word = c.peek_word();
    if words.contains(&word.as_str()) {
        c.word("")
    } else {
        c.expected(&format!("one of {}", words.join(", ")))
    }
}
