"""Records which public functions, methods and properties of the package the tests use."""

import functools
import inspect
import types

import ptxkit

USED = set()


def members(of):
    """The public members of a class: name and object."""
    for name, value in list(vars(of).items()):
        if not name.startswith("_"):
            yield name, value


def recorded(name, call):
    """`call`, which records `name`."""

    @functools.wraps(call)
    def wrapper(*args, **kwargs):
        USED.add(name)
        return call(*args, **kwargs)

    return wrapper


def wrapped(name, value):
    """The same member of a class, which records its uses; nothing for others, such as a constant."""
    if isinstance(value, (types.GetSetDescriptorType, types.MemberDescriptorType)):
        return property(recorded(name, value.__get__), doc=value.__doc__)
    if isinstance(value, property):
        return property(recorded(name, value.fget), doc=value.__doc__)
    if isinstance(value, (staticmethod, classmethod)):
        return type(value)(recorded(name, value.__func__))
    return recorded(name, value) if callable(value) else None


def install():
    """Puts a function or property that records its uses in the place of each public one, and returns their names."""
    names = set()
    for public in ptxkit.__all__:
        value = getattr(ptxkit, public)
        if inspect.isclass(value):
            for member, inner in members(value):
                name = f"{public}.{member}"
                new = wrapped(name, inner)
                if new is not None:
                    setattr(value, member, new)
                    names.add(name)
        elif callable(value):
            setattr(ptxkit, public, recorded(public, value))
            names.add(public)
    return names
