//! The vocabulary as it is read and completed: types, state spaces, versions, targets, registers, directives, modifiers, marks and functions.

use std::collections::HashMap;

use nom::Parser;
use nom::combinator::{map, opt, verify};
use nom::multi::many1;
use nom::sequence::{preceded, terminated};

use crate::input::{
    Line, Parsed, Pos, Result, Span, Word, dotted, expect, expect_one_of, keyword, name, number,
    string, version, word,
};
use crate::naming::variant;
use crate::read_text::{about, about_and_example, about_word};
use crate::vocabulary_rows::{
    ActionRow, Arrangement, ClassRow, DirectiveRow, ForeignRow, FunctionRow, MarkRow, ModifierRow,
    Names, OptionRow, RegisterRow, SpaceRow, TargetRow, TypeKind, TypeRow, VersionRow, expanded,
    expect_version,
};

/// The size in bytes of the shared variables that a kernel may have on every target.
const DEFAULT_SHARED: u32 = 0xc000;

/// Index of a modifier in the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ModifierId(pub(crate) usize);

/// The contents of the vocabulary files.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    pub(crate) types: Vec<TypeRow>,
    pub(crate) spaces: Vec<SpaceRow>,
    pub(crate) versions: Vec<VersionRow>,
    /// The numbers of the targets of each family, in ascending order.
    pub(crate) families: Vec<Vec<u16>>,
    pub(crate) targets: Vec<TargetRow>,
    pub(crate) options: Vec<OptionRow>,
    pub(crate) foreign: Vec<ForeignRow>,
    /// Functions of C in libdevice.
    pub(crate) library: Vec<Word>,
    pub(crate) registers: Vec<RegisterRow>,
    pub(crate) directives: Vec<DirectiveRow>,
    pub(crate) classes: Vec<ClassRow>,
    pub(crate) modifiers: Vec<ModifierRow>,
    pub(crate) marks: Vec<MarkRow>,
    pub(crate) functions: Vec<FunctionRow>,
    pub(crate) actions: Vec<ActionRow>,
    /// Instructions on which certain modifiers have no effect.
    pub(crate) ignored_on: Vec<(Word, Vec<Word>)>,
    /// Modifiers without effect on any instruction.
    ignored: Vec<Word>,
    modifier_index: HashMap<String, ModifierId>,
    /// The position of the definition of each name of each kind.
    definitions: HashMap<(&'static str, String), Pos>,
}

impl Vocabulary {
    pub(crate) fn read(&mut self, lines: &[Line<'_>]) -> Result<()> {
        for line in lines {
            if line.keyword() == "class" {
                self.class(line)?;
                continue;
            }
            if !matches!(line.keyword(), "type" | "space" | "sreg" | "directive") {
                line.leaf()?;
            }
            match line.keyword() {
                "type" => self.type_row(line)?,
                "space" => self.space_row(line)?,
                "version" => self.version_row(line)?,
                "family" => self
                    .families
                    .push(line.parse(preceded(word, many1(number)))?),
                "target" => self.target_row(line)?,
                "option" => self.option_row(line)?,
                "foreign" => self.foreign_row(line)?,
                "library" => self.library_row(line)?,
                "sreg" => self.register_row(line)?,
                "directive" => self.directive_row(line)?,
                "mark" => self.mark_row(line)?,
                "function" => self.function_row(line)?,
                "action" => self.action_row(line)?,
                "ignored" => self.ignored_row(line)?,
                "doubled" => self.flag_row(line, |m| m.doubled = true)?,
                "about" => self.about_row(line)?,
                "usual" => self.flag_row(line, |m| m.usual = true)?,
                keyword => {
                    return line.error(format!(
                        "expected a statement of the vocabulary, found {keyword}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Adds types and spaces to the modifiers and checks references between the files.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let (mut types, mut formats, mut spaces) = (Vec::new(), Vec::new(), Vec::new());
        for row in &self.types {
            if row.kind == TypeKind::Format {
                formats.push(row.name.clone());
            } else {
                types.push(row.name.clone());
            }
        }
        for row in &self.spaces {
            if row.modifier {
                spaces.push(row.name.clone());
            }
        }
        let lists = [
            ("type", "type", Names::Type, types),
            ("format", "data format", Names::Type, formats),
            ("space", "state space", Names::Space, spaces),
        ];
        for (name, meaning, names, list) in lists {
            if let Some(first) = list.first() {
                let name = Word {
                    text: name.into(),
                    pos: first.pos.clone(),
                };
                self.classes.push(ClassRow {
                    name,
                    positional: true,
                    meaning: meaning.into(),
                });
            }
            for word in list {
                self.modifier(&word, names)?;
            }
        }
        for word in std::mem::take(&mut self.ignored) {
            let Some(id) = self.modifier_id(&word.text) else {
                return word.error(format!("{word} is in no class"));
            };
            self.modifiers[id.0].ignored = true;
        }
        for register in &self.registers {
            if !self.types.iter().any(|t| t.name.text == register.ty.text) {
                return register.ty.error(format!("unknown type {}", register.ty));
            }
        }
        let supports = (self.types.iter().map(|t| &t.since))
            .chain(self.registers.iter().map(|r| &r.since))
            .chain(self.directives.iter().map(|d| &d.since))
            .chain(self.options.iter().map(|o| &o.since));
        for target in supports.filter_map(|s| s.target.as_ref()) {
            if self.target(&target.text).is_none() {
                return target.error(format!("unknown target {target}"));
            }
        }
        Ok(())
    }

    pub(crate) fn modifier_id(&self, text: &str) -> Option<ModifierId> {
        self.modifier_index.get(text).copied()
    }

    pub(crate) fn target(&self, name: &str) -> Option<&TargetRow> {
        self.targets.iter().find(|t| t.name.text == name)
    }

    /// The name of a modifier in Rust.
    pub(crate) fn variant(&self, id: ModifierId) -> String {
        variant(&self.modifiers[id.0].word.text)
    }

    /// Records the definition of a name. Returns an error if the name is already defined.
    fn define(&mut self, kind: &'static str, name: &Word) -> Result<()> {
        match self
            .definitions
            .insert((kind, name.text.clone()), name.pos.clone())
        {
            Some(first) => name.error(format!("{kind} {name} is defined at {first} already")),
            None => Ok(()),
        }
    }

    fn modifier(&mut self, word: &Word, names: Names) -> Result<()> {
        self.define("modifier", word)?;
        self.modifier_index
            .insert(word.text.clone(), ModifierId(self.modifiers.len()));
        self.modifiers.push(ModifierRow {
            word: word.clone(),
            class: self.classes.len() - 1,
            names,
            columns: columns(&word.text).unwrap_or(0),
            ignored: false,
            doubled: false,
            usual: false,
            about: String::new(),
        });
        Ok(())
    }

    fn type_row(&mut self, line: &Line<'_>) -> Result<()> {
        let mut row = line.parse(TypeRow::parse)?;
        (row.about, row.example) = about_and_example(line)?;
        self.define("type", &row.name)?;
        self.types.push(row);
        Ok(())
    }

    fn space_row(&mut self, line: &Line<'_>) -> Result<()> {
        let mut row = line.parse(SpaceRow::parse)?;
        row.about = about(line)?;
        self.define("space", &row.name)?;
        self.spaces.push(row);
        Ok(())
    }

    fn option_row(&mut self, line: &Line<'_>) -> Result<()> {
        let row = line.parse(OptionRow::parse)?;
        self.define("option", &row.name)?;
        self.options.push(row);
        Ok(())
    }

    fn library_row(&mut self, line: &Line<'_>) -> Result<()> {
        let names = line.parse(preceded(word, expect("functions of C", many1(name))))?;
        for name in &names {
            self.define("function of a library", name)?;
        }
        self.library.extend(names);
        Ok(())
    }

    fn foreign_row(&mut self, line: &Line<'_>) -> Result<()> {
        let row = line.parse(ForeignRow::parse)?;
        for word in &row.words {
            self.define("word of another language", word)?;
        }
        self.foreign.push(row);
        Ok(())
    }

    fn register_row(&mut self, line: &Line<'_>) -> Result<()> {
        let mut row = line.parse(RegisterRow::parse)?;
        row.about = about(line)?;
        for name in &row.names {
            self.define("special register", name)?;
        }
        self.registers.push(row);
        Ok(())
    }

    fn directive_row(&mut self, line: &Line<'_>) -> Result<()> {
        let mut row = line.parse(DirectiveRow::parse)?;
        (row.about, row.example) = about_and_example(line)?;
        self.define("directive", &row.name)?;
        self.directives.push(row);
        Ok(())
    }

    fn mark_row(&mut self, line: &Line<'_>) -> Result<()> {
        let row = line.parse(MarkRow::parse)?;
        self.define("mark", &row.name)?;
        self.marks.push(row);
        Ok(())
    }

    fn function_row(&mut self, line: &Line<'_>) -> Result<()> {
        let row = line.parse(FunctionRow::parse)?;
        self.define("function", &row.name)?;
        self.functions.push(row);
        Ok(())
    }

    fn action_row(&mut self, line: &Line<'_>) -> Result<()> {
        let row = line.parse(ActionRow::parse)?;
        self.define("action", &row.name)?;
        self.actions.push(row);
        Ok(())
    }

    fn version_row(&mut self, line: &Line<'_>) -> Result<()> {
        let release = || map(opt(string), |text| text.filter(|t| !t.is_empty()));
        let last = self.versions.last().map(|row| row.version);
        let ascending = verify(version, move |v| last.is_none_or(|last| last < *v));
        let row = (
            expect("a version after the previous one", ascending),
            release(),
            release(),
        );
        let (version, toolkit, driver) = line.parse(preceded(word, row))?;
        self.versions.push(VersionRow {
            version,
            toolkit,
            driver,
        });
        Ok(())
    }

    fn target_row(&mut self, line: &Line<'_>) -> Result<()> {
        let until = preceded(expect("`until`", keyword("until")), expect_version);
        let renamed = opt(preceded(
            keyword("renamed"),
            (expect("the new name", name), until),
        ));
        let since = preceded(expect("`since`", keyword("since")), expect_version);
        let shared = opt(preceded(
            keyword("shared"),
            expect("a number of bytes", number::<u32>),
        ));
        let (name, since, renamed, shared) = line.parse(preceded(
            word,
            (
                expect("a target such as sm_90", name),
                since,
                renamed,
                shared,
            ),
        ))?;
        self.define("target", &name)?;
        let digits = name.text.strip_prefix("sm_").unwrap_or("");
        let suffix = digits.chars().last().filter(|s| matches!(s, 'a' | 'f'));
        let Ok(number) = digits.trim_end_matches(['a', 'f']).parse() else {
            return name.error(format!("{name} is not of the form sm_N, sm_Na or sm_Nf"));
        };
        self.targets.push(TargetRow {
            name,
            number,
            suffix,
            since,
            renamed,
            shared: shared.unwrap_or(DEFAULT_SHARED),
        });
        Ok(())
    }

    fn class(&mut self, line: &Line<'_>) -> Result<()> {
        let head = (
            expect("the name of a class", name),
            expect_one_of::<Arrangement>,
            expect("what the class selects, in quotes", string),
        );
        let (name, arrangement, meaning) = line.parse(preceded(word, head))?;
        self.define("class", &name)?;
        let is_vector = name.text == "vector";
        self.classes.push(ClassRow {
            name,
            positional: arrangement == Arrangement::Positional,
            meaning,
        });
        for line in &line.children {
            line.leaf()?;
            for word in line.parse(many1(expect_modifiers))?.iter().flatten() {
                let names = match word.text.strip_prefix(".v").and_then(|n| n.parse().ok()) {
                    Some(length) if is_vector => Names::VectorLength(length),
                    _ => Names::Nothing,
                };
                self.modifier(word, names)?;
            }
        }
        Ok(())
    }

    /// `ignored MODIFIER… [on NAME…]`
    fn ignored_row(&mut self, line: &Line<'_>) -> Result<()> {
        let instructions = opt(preceded(keyword("on"), many1(name)));
        let (modifiers, instructions) =
            line.parse(preceded(word, (many1(dotted), instructions)))?;
        match instructions {
            Some(names) => self
                .ignored_on
                .extend(names.into_iter().map(|name| (name, modifiers.clone()))),
            None => {
                modifiers
                    .iter()
                    .try_for_each(|word| self.define("ignored", word))?;
                self.ignored.extend(modifiers);
            }
        }
        Ok(())
    }

    /// `doubled MODIFIER…`, `usual MODIFIER…`
    fn flag_row(&mut self, line: &Line<'_>, set: impl Fn(&mut ModifierRow)) -> Result<()> {
        for word in line.parse(preceded(word, many1(dotted)))? {
            match self.modifier_id(&word.text) {
                Some(id) => set(&mut self.modifiers[id.0]),
                None => return word.error(format!("{word} is in no class")),
            }
        }
        Ok(())
    }

    /// `about MODIFIER "…"`
    fn about_row(&mut self, line: &Line<'_>) -> Result<()> {
        let (word, sentence) = about_word(line)?;
        self.define("sentence about", &word)?;
        match self.modifier_id(&word.text) {
            Some(id) => self.modifiers[id.0].about = sentence,
            None => return word.error(format!("{word} is in no class")),
        }
        Ok(())
    }

    /// The target after renaming.
    fn current_name<'v>(&'v self, t: &'v TargetRow) -> &'v TargetRow {
        t.renamed
            .as_ref()
            .and_then(|(new_name, _)| self.target(&new_name.text))
            .unwrap_or(t)
    }

    pub(crate) fn family(&self, number: u16) -> Option<&Vec<u16>> {
        self.families.iter().find(|f| f.contains(&number))
    }

    /// Whether code that uses features of `feature` is legal on `target`: the partial order of targets.
    fn implies(&self, target: &TargetRow, feature: &TargetRow) -> bool {
        let (t, f) = (self.current_name(target), self.current_name(feature));
        match f.suffix {
            None => t.number >= f.number,
            Some('f') => {
                let is_in_family = self
                    .family(t.number)
                    .is_some_and(|family| family.contains(&f.number));
                t.suffix.is_some() && t.number >= f.number && is_in_family
            }
            Some(_) => t.suffix == f.suffix && t.number == f.number,
        }
    }

    /// Every target that supports what `feature` supports.
    pub(crate) fn targets_with(&self, feature: &TargetRow) -> u128 {
        self.target_set(|t| self.implies(t, feature))
    }

    /// Every target whose features `target` supports.
    pub(crate) fn implied_by(&self, target: &TargetRow) -> u128 {
        self.target_set(|f| self.implies(target, f))
    }

    fn target_set(&self, is_in: impl Fn(&TargetRow) -> bool) -> u128 {
        self.targets
            .iter()
            .enumerate()
            .filter(|(_, target)| is_in(target))
            .fold(0, |set, (i, _)| set | 1 << i)
    }
}

/// The 256 of `.m64n256k16`.
fn columns(text: &str) -> Option<u16> {
    let (_, columns) = text.strip_prefix(".m")?.split_once('n')?;
    columns.split_once('k')?.0.parse().ok()
}

fn expect_modifiers(input: Span<'_>) -> Parsed<'_, Vec<Word>> {
    terminated(
        nom::combinator::not(nom::combinator::eof),
        nom::combinator::success(()),
    )
    .parse(input)?;
    let dotted = verify(expanded, |list: &Vec<Word>| {
        list.iter().all(|w| w.text.starts_with('.'))
    });
    expect("a modifier such as .rn", dotted).parse(input)
}
