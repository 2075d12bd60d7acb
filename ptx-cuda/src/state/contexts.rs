//! Contexts, and the stack of contexts of each thread.
//!
//! All contexts use the same memory. A context owns what is created while it is current: its allocations, modules, streams and events end with it. An error that a
//! kernel causes stays in its context, as on a GPU.

use std::cell::RefCell;

use super::Driver;
use crate::handles::{Kind, Raw};
use crate::status::{Outcome, Status};
use crate::thread_list::ThreadList;

/// A context.
#[derive(Debug, Default)]
pub(crate) struct Context {
    /// The flags with which it was created.
    pub(crate) flags: u32,
    /// The error that a kernel caused.
    pub(crate) fault: Option<Status>,
    /// The preference between the cache and shared memory, which the program can read again.
    pub(crate) cache_preference: u32,
    /// The number of holders of a primary context that did not release it.
    pub(crate) holders: u32,
}

impl Kind for Context {
    const NUMBER: usize = 1;
    const UNKNOWN: Status = Status::INVALID_CONTEXT;
}

thread_local! {
    static CONTEXTS: RefCell<Vec<Raw>> = const { RefCell::new(Vec::new()) };
}

/// The contexts of this thread, the current one last.
static STACK: ThreadList<Raw> = ThreadList::new(&CONTEXTS);

/// The current context of the thread; `None` if it has none.
pub(crate) fn current() -> Option<Raw> {
    STACK.with(|stack| stack.last().copied())
}

impl Driver {
    /// The current context. Fails without one, and after it was destroyed.
    pub(crate) fn current_context(&self) -> Outcome<Raw> {
        let handle = current().ok_or(Status::INVALID_CONTEXT)?;
        match self.contexts.get(handle) {
            Ok(_) => Ok(handle),
            Err(_) => Err(Status::CONTEXT_IS_DESTROYED),
        }
    }

    /// The context that owns what is created now by a function that needs no current context: the current one, or else the primary one.
    pub(crate) fn owning_context(&mut self) -> Raw {
        self.current_context()
            .unwrap_or_else(|_| self.primary_context())
    }

    /// Fails with the error that a kernel caused in the current context, if there is one.
    pub(crate) fn check_fault(&self) -> Outcome<()> {
        match self.current_context() {
            Ok(_) => self.check_context(),
            Err(_) => Ok(()),
        }
    }

    /// Calls a function while the context of a stream is current; for default streams, the current one is.
    pub(crate) fn in_context_of<T>(
        &mut self,
        stream: Raw,
        function: impl FnOnce(&mut Self) -> Outcome<T>,
    ) -> Outcome<T> {
        let owner = self.streams.get(stream).map(|stream| stream.context);
        match owner {
            Ok(owner) if current() != Some(owner) => {
                self.push_context(owner);
                let result = function(self);
                let popped = self.pop_context();
                popped.and(result)
            }
            _ => function(self),
        }
    }

    /// Fails without a current context, and with the error that a kernel caused in it.
    pub(crate) fn check_context(&self) -> Outcome<()> {
        let context = self.contexts.get(self.current_context()?)?;
        context.fault.map_or(Ok(()), Err)
    }

    /// Sets the error of the current context, which stays until the context ends.
    pub(crate) fn fail_context(&mut self, fault: Status) {
        if let Ok(handle) = self.current_context()
            && let Ok(context) = self.contexts.get_mut(handle)
        {
            context.fault.get_or_insert(fault);
        }
    }

    /// The preference of the current context between the cache and shared memory.
    pub(crate) fn cache_preference(&self) -> Outcome<u32> {
        let context = self.contexts.get(self.current_context()?)?;
        Ok(context.cache_preference)
    }

    /// Sets the preference of the current context between the cache and shared memory.
    pub(crate) fn set_cache_preference(&mut self, preference: u32) -> Outcome<()> {
        if preference > 3 {
            return Err(Status::INVALID_VALUE);
        }
        let context = self.current_context()?;
        self.contexts.get_mut(context)?.cache_preference = preference;
        Ok(())
    }

    /// Creates a context and makes it current.
    pub(crate) fn create_context(&mut self, flags: u32) -> Raw {
        let handle = self.contexts.insert(Context {
            flags,
            ..Context::default()
        });
        self.push_context(handle);
        handle
    }

    /// Makes a context current, until it is popped.
    pub(crate) fn push_context(&mut self, context: Raw) {
        STACK.with(|stack| stack.push(context));
    }

    /// Ends the use of the current context, and returns it.
    pub(crate) fn pop_context(&mut self) -> Outcome<Raw> {
        let popped = STACK.with(Vec::pop);
        popped.ok_or(Status::INVALID_CONTEXT)
    }

    /// Replaces the current context; 0 for none.
    pub(crate) fn set_current_context(&mut self, context: Raw) -> Outcome<()> {
        if context != 0 {
            self.contexts.get(context)?;
        }
        STACK.with(|stack| {
            stack.pop();
            if context != 0 {
                stack.push(context);
            }
        });
        Ok(())
    }

    /// Destroys a context, with all objects that it owns. If it is current in this thread, the thread has no current context, or the one before.
    pub(crate) fn destroy_context(&mut self, context: Raw) -> Outcome<()> {
        self.contexts.remove(context)?;
        STACK.with(|stack| {
            if stack.last() == Some(&context) {
                stack.pop();
            }
        });
        self.destroy_objects(context);
        Ok(())
    }

    /// Destroys the allocations, modules, streams and events of a context.
    fn destroy_objects(&mut self, context: Raw) {
        self.flush_output();
        for module in handles_of(self.modules.iter().map(|(h, o)| (h, o.context)), context) {
            let _ = self.unload(module);
        }
        for stream in handles_of(self.streams.iter().map(|(h, o)| (h, o.context)), context) {
            self.abandon_stream(stream);
        }
        self.abandon_default_streams();
        for event in handles_of(self.events.iter().map(|(h, o)| (h, o.context)), context) {
            let _ = self.destroy_event(event);
        }
        self.destroy_textures_of(context);
        self.destroy_arrays_of(context);
        for address in self.memory.of_context(context) {
            let _ = self.free(address);
        }
    }

    /// The primary context, which is created if it does not exist.
    pub(crate) fn primary_context(&mut self) -> Raw {
        match self.primary {
            Some(handle) => handle,
            None => {
                let handle = self.contexts.insert(Context::default());
                self.primary = Some(handle);
                handle
            }
        }
    }

    /// Makes the primary context current if the thread has no current context, as the first function of the runtime API in a thread does.
    pub(crate) fn use_primary_context(&mut self) -> Outcome<()> {
        if current().is_none() {
            let handle = self.primary_context();
            self.contexts.get_mut(handle)?.holders += 1;
            self.push_context(handle);
        }
        Ok(())
    }

    /// Ends one use of the primary context. With the last one, its objects are destroyed, and its error ends.
    pub(crate) fn release_primary_context(&mut self) -> Outcome<()> {
        let handle = self.primary.ok_or(Status::INVALID_CONTEXT)?;
        let context = self.contexts.get_mut(handle)?;
        context.holders = context
            .holders
            .checked_sub(1)
            .ok_or(Status::INVALID_CONTEXT)?;
        if context.holders == 0 {
            self.reset_primary_context();
        }
        Ok(())
    }

    /// Destroys the objects of the primary context, and ends its error. Its handle stays valid.
    pub(crate) fn reset_primary_context(&mut self) {
        let Some(handle) = self.primary else {
            return;
        };
        self.destroy_objects(handle);
        if let Ok(context) = self.contexts.get_mut(handle) {
            context.fault = None;
        }
    }
}

/// The handles of the objects that a context owns.
fn handles_of(objects: impl Iterator<Item = (Raw, Raw)>, context: Raw) -> Vec<Raw> {
    let owned = objects.filter(|(_, owner)| *owner == context);
    owned.map(|(handle, _)| handle).collect()
}
