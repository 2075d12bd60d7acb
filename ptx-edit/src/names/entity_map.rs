//! A value for each entity of a module.

use alloc::vec::Vec;

use ptx_ir::{EntityId, Module};

use super::Entity;

/// A value for each entity of a module, in a table.
///
/// ```
/// use ptx_edit::Names;
/// use ptx_edit::raw::EntityMap;
/// let text = ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 r; mov.b32 r, 0; }";
/// let module = ptx_parse::parse_str(text).module;
/// let names = Names::of(&module);
/// let mut uses: EntityMap<u32> = EntityMap::new(&module);
/// for name in names.refs() {
///     if let Some(count) = uses.get_mut(name.entity) {
///         *count += 1;
///     }
/// }
/// assert_eq!(uses.get(names.refs()[1].entity), Some(&2));
/// ```
#[derive(Clone, Debug)]
pub struct EntityMap<T> {
    /// The first row of the symbols, the parameters and the undeclared names, then of the registers, the variables and the
    /// labels of each function. The last element is the number of rows.
    starts: Vec<usize>,
    rows: Vec<T>,
}

/// The indices in `starts` of the parameters, the undeclared names, and the first function. The symbols have index 0.
const PARAMETERS: usize = 1;
const UNKNOWN: usize = 2;
const FUNCTIONS: usize = 3;

impl<T: Clone + Default> EntityMap<T> {
    /// The default value for each entity of a module.
    #[must_use]
    pub fn new(module: &Module) -> Self {
        let mut starts = Vec::with_capacity(4 + 3 * module.functions().len());
        let mut len = 0;
        let mut add_rows = |size: usize| {
            starts.push(len);
            len += size;
        };
        add_rows(module.symbols().len());
        add_rows(module.params().len());
        add_rows(module.name_count());
        for id in module.functions().ids() {
            let body = module.body(id);
            add_rows(body.map_or(0, |b| b.reg_decls().len()));
            add_rows(body.map_or(0, |b| b.vars().len()));
            add_rows(body.map_or(0, |b| b.labels().len()));
        }
        add_rows(0);
        let rows = vec![T::default(); len];
        Self { starts, rows }
    }
}

impl<T> EntityMap<T> {
    /// The row of an entity of the module.
    fn row(&self, entity: Entity) -> Option<usize> {
        let (kind, id) = match entity {
            Entity::Symbol(id) => (0, id.index()),
            Entity::Parameter(id) => (PARAMETERS, id as usize),
            Entity::Unknown(id) => (UNKNOWN, id.index()),
            Entity::Register(f, id) => (FUNCTIONS + 3 * f.index(), id.index()),
            Entity::Variable(f, id) => (FUNCTIONS + 3 * f.index() + 1, id.index()),
            Entity::Label(f, id) => (FUNCTIONS + 3 * f.index() + 2, id.index()),
        };
        let row = self.starts.get(kind)? + id;
        (row < *self.starts.get(kind + 1)?).then_some(row)
    }

    /// The value of an entity; `None` if the module does not have it.
    #[must_use]
    pub fn get(&self, entity: Entity) -> Option<&T> {
        self.rows.get(self.row(entity)?)
    }

    /// A mutable reference to the value of an entity; `None` if the module does not have it.
    pub fn get_mut(&mut self, entity: Entity) -> Option<&mut T> {
        let row = self.row(entity)?;
        self.rows.get_mut(row)
    }

    /// Replaces the value of an entity; returns the old one.
    pub fn replace(&mut self, entity: Entity, value: T) -> Option<T> {
        self.get_mut(entity)
            .map(|old| core::mem::replace(old, value))
    }

    /// All values.
    pub fn values(&self) -> core::slice::Iter<'_, T> {
        self.rows.iter()
    }
}
