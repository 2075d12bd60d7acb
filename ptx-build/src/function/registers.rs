//! Registers of a function, fresh ones and those with a name, and its variables.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::{Binding, Code, RegDeclId};
use ptx_isa::{ScalarType, StateSpace};

use super::body::{FreshRegisters, RangeInfo};
use super::{FunctionBuilder, Meaning};
use crate::declaration::{Declaration, MOST_MEMBERS, Name};
use crate::declared::RegisterInfo;
use crate::error::{BuildError, BuildErrorKind, hidden};
use crate::handle::{Reg, RegRange};
use crate::handle_owner::Handle;
use crate::lexical::ends_with_digit;
use crate::name_scope::NameScope;

#[cold]
fn no_member(name: &str, number: u64) -> BuildError {
    BuildError::new(
        BuildErrorKind::Argument,
        format!("`{name}` has no register {number}"),
        "the registers of a range count from 0 up to one below its size, and its name ends with no digit; a plain name has number 0 alone",
    )
    .with_code(Code::OutsideRange)
}

/// The beginning of the names of fresh registers.
fn prefix(ty: ScalarType) -> String {
    match ty.register_prefix() {
        Some(prefix) => prefix.into(),
        None => format!("%{}_", ty.text().trim_start_matches('.')),
    }
}

impl FunctionBuilder<'_> {
    /// A fresh register: `%r1`, `%rd2`, `%f3`, `%p1`, …
    pub fn reg(&mut self, ty: ScalarType) -> Reg {
        let index = self
            .body
            .fresh_index_of_type
            .get(ty.index())
            .copied()
            .flatten();
        let index = index.map_or_else(|| self.add_fresh(ty), usize::from);
        let Some(fresh) = self.body.fresh.get_mut(index) else {
            // `add_fresh` added it.
            return Reg {
                owner: self.body.owner,
                index: u32::MAX,
            };
        };
        fresh.count += 1;
        let info = RegisterInfo::new(fresh.stem, fresh.decl, fresh.count, ty);
        self.push_register(info)
    }

    /// Whether a name is, or can become, that of a fresh register with this prefix.
    fn is_prefix_taken(&self, prefix: &str) -> bool {
        let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let mut names = self.body.names.with_prefix(prefix);
        let tables = &self.module.tables;
        self.body.ranges.iter().any(|range| range.name == prefix)
            || names.any(|(name, _)| name.strip_prefix(prefix).is_some_and(is_number))
            || tables.names.with_prefix(prefix).next().is_some()
    }

    pub(super) fn add_fresh(&mut self, ty: ScalarType) -> usize {
        let mut prefix = prefix(ty);
        while self.is_prefix_taken(&prefix) {
            prefix.push('_');
        }
        let index = self.body.fresh.len();
        let name = self.module.draft.intern(&prefix);
        let decl = self.body.add_register_name(name, Some(u32::MAX), ty, 1);
        self.body.fresh.push(FreshRegisters {
            decl,
            ty,
            stem: self.body.registers.add_range(&prefix),
            prefix,
            count: 0,
            highest_used: 0,
        });
        if let Some(place) = self.body.fresh_index_of_type.get_mut(ty.index()) {
            *place = Some(index as u8);
        }
        index
    }

    #[inline]
    pub(super) fn push_register(&mut self, info: RegisterInfo) -> Reg {
        let index = self.body.registers.push(info);
        let owner = self.body.owner;
        Reg { owner, index }
    }

    pub(super) fn add_register(
        &mut self,
        ty: ScalarType,
        vector: u8,
        name: &str,
        parameter: bool,
    ) -> Result<Reg, BuildError> {
        let index = self.body.registers.len();
        if parameter {
            self.claim_parameter(name, Meaning::Register(index))?;
        } else {
            self.claim(name, Meaning::Register(index))?;
        }
        let stem = self.body.registers.add_plain(name);
        // That of another register has its record when the declaration is added.
        let mut decl = RegDeclId::new(0);
        if parameter {
            let name = self.module.draft.intern(name);
            decl = self.body.add_register_name(name, None, ty, vector);
            self.body.is_in_order = false;
        }
        let reg = self.push_register(RegisterInfo {
            vector,
            ..RegisterInfo::new(stem, decl, 0, ty)
        });
        if parameter {
            self.body.record_register(reg.index);
        }
        Ok(reg)
    }

    /// A register with a name, declared here, in the scope that is open.
    ///
    /// # Errors
    ///
    /// The name is invalid or taken, or there are no registers of this type.
    pub fn named_reg(&mut self, ty: ScalarType, name: &str) -> Result<Reg, BuildError> {
        self.named_vector(ty, 1, name)
    }

    /// A vector register of 2 or 4 elements (1 is a scalar), declared here.
    ///
    /// # Errors
    ///
    /// As [`named_reg`](Self::named_reg); also for another number of elements.
    pub fn named_vector(
        &mut self,
        ty: ScalarType,
        vector: u8,
        name: &str,
    ) -> Result<Reg, BuildError> {
        let declaration = Declaration::new(StateSpace::Reg, ty, name).vector(vector);
        match self.registers(&declaration)?.first() {
            Some(&range) => self.member(range, 0),
            None => Err(no_member(name, 0)),
        }
    }

    /// Registers `name0`, `name1`, …, declared here in one range; at most 65,536, which [`registers`](Self::registers) has not
    /// as a limit.
    ///
    /// # Errors
    ///
    /// As [`named_reg`](Self::named_reg); also for a range that is too large, or whose members cannot be named.
    pub fn reg_range(
        &mut self,
        ty: ScalarType,
        name: &str,
        count: u32,
    ) -> Result<Vec<Reg>, BuildError> {
        if u64::from(count) > MOST_MEMBERS {
            let message =
                format!("`{name}<{count}>` are too many registers to give a handle to each");
            let help =
                "`registers` declares any number, and `member` makes a handle where it is needed";
            return BuildErrorKind::Argument.refuse(Code::BadCount, message, help);
        }
        let declaration = Declaration::new(StateSpace::Reg, ty, name).range(count);
        declaration.check_members()?;
        let Some(&range) = self.registers(&declaration)?.first() else {
            return Err(no_member(name, 0));
        };
        (0..u64::from(count))
            .map(|n| self.member(range, n))
            .collect()
    }

    /// Declares registers in the open scope. Returns a handle for each name of the declaration, a [range](Declaration::range) or a
    /// plain name. The cost of a range does not depend on its length: [`member`](Self::member) makes the used registers.
    ///
    /// ```
    /// # use ptx_build::{Declaration, ModuleBuilder};
    /// # use ptx_isa::{PtxVersion, ScalarType as T, StateSpace, Target};
    /// # let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    /// # let mut k = m.kernel("k")?;
    /// let ranges = k.registers(&Declaration::new(StateSpace::Reg, T::B32, "%a").range(1000).and("%b"))?;
    /// let (a, b) = (k.member(ranges[0], 17)?, k.member(ranges[1], 0)?);
    /// assert_eq!((k.name_of(a), k.name_of(b)), ("%a17".into(), "%b".into()));
    /// # k.finish()?;
    /// # Ok::<(), ptx_build::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The declaration is not one of registers, is illegal, or declares a name that is taken.
    pub fn registers(&mut self, declaration: &Declaration) -> Result<Vec<RegRange>, BuildError> {
        if declaration.space != StateSpace::Reg {
            let message = format!("`{}` is a variable and no register", declaration.name());
            let help = "variables are declared by `declare`";
            return Err(BuildError::new(BuildErrorKind::Argument, message, help));
        }
        let mut names = NameScope::new(&self.module.tables, Some(&self.body));
        let text = declaration.statement(&mut names)?;
        let mentions = names.mentions;
        for name in declaration.names().filter(|n| n.count.is_none()) {
            self.check_claim(&name.text, self.body.depth())?;
        }
        let parsed = self.check(&text, &mentions)?;
        let first = self.body.ranges.len();
        for name in declaration.names() {
            if let Err(error) = self.add_range(declaration, name) {
                // A refused declaration declares nothing.
                self.forget_ranges(first);
                return Err(error);
            }
        }
        self.with_declarations(|f| f.import(&parsed, &|_| true));
        self.bind_ranges(first);
        let owner = self.body.owner;
        Ok((first..self.body.ranges.len())
            .map(|i| RegRange {
                owner,
                index: i as u32,
            })
            .collect())
    }

    /// Assigns the records of the last declaration to the ranges from number `first` on.
    fn bind_ranges(&mut self, first: usize) {
        let body = &mut self.body;
        let Some(last) = body.records.declarations().decls.ids().next_back() else {
            return;
        };
        for (i, declarator) in (first..).zip(body.records.declarations().declarators(last)) {
            let Binding::Register(decl) = declarator.binding else {
                continue;
            };
            let plain = body.plain_register(decl);
            let Some(range) = body.ranges.get_mut(i) else {
                return;
            };
            range.decl = decl;
            if let Some(info) = range.plain.and_then(|r| body.registers.get_mut(r)) {
                (info.decl, info.id) = (decl, plain);
            }
        }
    }

    fn add_range(&mut self, declaration: &Declaration, name: &Name) -> Result<(), BuildError> {
        let depth = self.body.depth();
        let range = RangeInfo {
            decl: RegDeclId::new(0),
            name: name.text.clone(),
            count: name.count.as_ref().and_then(|c| c.value()),
            ty: declaration.ty,
            vector: declaration.vector_len(),
            depth,
            is_open: true,
            plain: None,
            stem: None,
        };
        if range.count.is_some() {
            let alike = self.body.names.with_prefix(&range.name);
            let held: Vec<(String, usize)> = alike
                .filter(|(n, _)| range.contains(n))
                .map(|(n, (depth, _))| (n.to_string(), depth))
                .collect();
            let mut fresh = self.body.fresh.iter();
            if let Some(fresh) = fresh.find(|fresh| {
                let digits = fresh.prefix.strip_prefix(range.name.as_str());
                digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
            }) {
                return Err(self.duplicate(&format!("{}1", fresh.prefix)));
            }
            if let Some((name, _)) = held.iter().find(|(_, d)| *d >= depth) {
                return Err(self.duplicate(name));
            }
            // The hidden names are visible again when the scope is closed.
            for (name, _) in held {
                self.bind(&name, Meaning::Member, depth);
            }
        }
        let index = self.body.ranges.len() as u32;
        let is_plain = range.count.is_none();
        if is_plain {
            let register = self.add_register(range.ty, range.vector, &range.name, false)?;
            let plain = Some(register.index);
            self.body.ranges.push(RangeInfo { plain, ..range });
        } else {
            let stem = Some(self.body.registers.add_range(&range.name));
            self.body.ranges.push(RangeInfo { stem, ..range });
            if let Some(scope) = self.body.scopes.last_mut() {
                scope.ranges.push(index);
            }
        }
        Ok(())
    }

    /// Takes back ranges that were just added.
    fn forget_ranges(&mut self, first: usize) {
        let Some(scope) = self.body.scopes.last_mut() else {
            return;
        };
        scope.ranges.retain(|r| (*r as usize) < first);
        for range in self.body.ranges.split_off(first) {
            let Some(scope) = self.body.scopes.last_mut() else {
                return;
            };
            let declared = scope.names.iter().rposition(|(n, _)| *n == range.name);
            if let Some(index) = declared.filter(|_| range.plain.is_some()) {
                let (name, outer) = scope.names.remove(index);
                self.unbind(&name, outer);
            }
        }
    }

    /// A register of a range, by its number; of a plain name, number 0.
    ///
    /// # Errors
    ///
    /// The range has no such member, belongs to another function, or is not visible here.
    pub fn member(&mut self, range: RegRange, number: u64) -> Result<Reg, BuildError> {
        let owner = self.body.owner;
        let info = self.body.ranges.get(range.index as usize);
        let Some(info) = info.filter(|_| range.owner == owner) else {
            let (owners, place) = (&self.module.tables.handle_owners, &self.body.name);
            return Err(owners.refuse(Handle::Range(range), Some(place)));
        };
        if let Some(index) = info.plain.filter(|_| number == 0) {
            return Ok(Reg { owner, index });
        }
        let unnamed = info.count.is_some() && ends_with_digit(&info.name);
        let is_outside = unnamed || info.count.is_none_or(|count| number >= count);
        let Some(stem) = info.stem.filter(|_| !is_outside) else {
            return Err(no_member(&info.name, number));
        };
        let name = format!("{}{number}", info.name);
        let (decl, ty, vector, depth) = (info.decl, info.ty, info.vector, info.depth);
        let inner = self.body.scopes.get(depth..).unwrap_or_default().iter();
        let mut inner = inner.flat_map(|s| &s.ranges);
        let hides = |r: &u32| {
            self.body
                .ranges
                .get(*r as usize)
                .is_some_and(|r| r.contains(&name))
        };
        let last = self.body.names.get(&name);
        if let Some((d, Meaning::Register(index))) = last
            && d == depth
            && info.is_open
        {
            return Ok(Reg { owner, index });
        }
        if !info.is_open || inner.any(hides) || last.is_some_and(|(d, _)| d > depth) {
            return Err(hidden("register", &name));
        }
        let reg = self.push_register(RegisterInfo {
            vector,
            ..RegisterInfo::new(stem, decl, number as u32, ty)
        });
        let meaning = Meaning::Register(reg.index);
        match last {
            // The place that was kept for it.
            Some((d, Meaning::Member)) if d == depth => {
                self.body.names.set(&name, Some((depth, meaning)));
            }
            _ => self.bind(&name, meaning, depth),
        }
        Ok(reg)
    }

    /// The name of a register of this function; empty for others.
    #[must_use]
    pub fn name_of(&self, reg: Reg) -> String {
        if reg.owner != self.body.owner {
            return String::new();
        }
        self.body.registers.name(reg.index)
    }

    /// The type of a register of this function.
    #[must_use]
    pub fn type_of(&self, reg: Reg) -> Option<ScalarType> {
        self.body.register(reg).map(|info| info.ty)
    }
}
