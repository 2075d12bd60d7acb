//! Short programs to copy; each file under `examples/` is one.
