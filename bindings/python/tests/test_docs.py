"""Every public name has a docstring and a stub, and the examples of the docstrings are right."""

import ast
import doctest
import inspect
import os
import re
from pathlib import Path

import pytest

import ptxkit

PACKAGE = Path(ptxkit.__file__).parent
DOCS = Path(os.environ.get("PTXKIT_DOCS", Path(__file__).parents[3] / "docs"))


def public():
    """The public functions, classes and their members: name and object."""
    for name in ptxkit.__all__:
        value = getattr(ptxkit, name)
        yield name, value
        if inspect.isclass(value):
            for member, inner in vars(value).items():
                if not member.startswith("_"):
                    yield f"{name}.{member}", inner


NAMES = dict(public())


@pytest.mark.parametrize("name", NAMES)
def test_has_a_docstring_whose_examples_are_right(name):
    text = inspect.getdoc(NAMES[name])
    assert text, "no docstring"
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    runner = doctest.DocTestRunner(verbose=False)
    output = []
    runner.run(example, out=output.append)
    assert runner.failures == 0, "".join(output)


# What `scan` makes, which has an example.
OF_SCAN = {"Batch", "Batches", "Scan", "Table"}


@pytest.mark.parametrize("name", [n for n in NAMES if "." not in n and n not in OF_SCAN])
def test_has_an_example(name):
    assert ">>>" in inspect.getdoc(NAMES[name])


PAGES = [DOCS.parent / "README.md", DOCS.parent / "bindings/python/README.md", *DOCS.rglob("*.md")]
# `tests_tables` runs the code of `scale.md`, with databases.
PAGE_NAMES = sorted(page.relative_to(DOCS.parent).as_posix() for page in PAGES if page.name != "scale.md")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.S | re.M)


@pytest.mark.parametrize("page", PAGE_NAMES)
def test_the_python_code_of_a_page_runs(page, tmp_path, monkeypatch):
    """The blocks of a page are one session, in a folder in which `corpus` is the one of the repository."""
    blocks = [b for b in BLOCK.findall((DOCS.parent / page).read_text(encoding="utf-8")) if not b.startswith(">>>")]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").symlink_to(DOCS.parent / "corpus")
    names = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def test_pages_have_python_code():
    assert sum(bool(BLOCK.search((DOCS.parent / page).read_text(encoding="utf-8"))) for page in PAGE_NAMES) >= 3


def test_the_examples_of_the_guide_are_right():
    failures, count = doctest.testfile(str(DOCS / "python.md"), module_relative=False)
    assert failures == 0 and count > 20


def stubbed():
    """The names in the stubs."""
    for file in PACKAGE.glob("*.py*"):
        if file.suffix not in (".py", ".pyi"):
            continue
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                yield node.name
            if isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef):
                        yield f"{node.name}.{inner.name}"
                    if isinstance(inner, ast.AnnAssign):
                        yield f"{node.name}.{inner.target.id}"


STUBS = set(stubbed())


@pytest.mark.parametrize("name", NAMES)
def test_has_a_stub(name):
    assert name in STUBS
