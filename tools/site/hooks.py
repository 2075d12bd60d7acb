"""Hooks of mkdocs: pages from outside of `docs`, links that leave the site, and the dialect of Markdown.

The pages are written for GitHub. A link to any other file of the repository becomes a link to the repository, and lists are indented as
Python-Markdown expects it.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
# The pages from outside of `docs`: their paths in the repository, and in the site.
OUTSIDE = {
    "ARCHITECTURE.md": "maintainers/architecture.md",
    "CHANGELOG.md": "maintainers/changelog.md",
    "CONTRIBUTING.md": "maintainers/contributing.md",
    "corpus/README.md": "maintainers/corpus.md",
    "ptx-cli/JSON.md": "json.md",
    "ptx-isa/isa/README.md": "maintainers/notation.md",
    "ptxkit/README.md": "ptxkit.md",
    "tools/fuzz/README.md": "maintainers/fuzzing.md",
}
INSIDE = {page: path for path, page in OUTSIDE.items()}
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
CODE = re.compile(r"(^```.*?^```[^\n]*$|`[^`\n]+`)", re.S | re.M)
ITEM = re.compile(r"^( *)([-*]|\d+\.) ")


def on_config(config):
    """Lists the generated pages of the instructions."""
    pages = sorted(path.name for path in (ROOT / "docs/isa").glob("9*.md"))
    for section in config.nav:
        if isinstance(section, dict) and "Instructions" in section:
            section["Instructions"] = ["isa/README.md", *(f"isa/{page}" for page in pages)]
    return config


def on_files(files, config):
    for path, page in OUTSIDE.items():
        files.append(File.generated(config, page, content=(ROOT / path).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, page, config, files):
    path = INSIDE.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    # The title of a page is its first element.
    markdown = re.sub(r"\A<!--.*?-->\s*", "", markdown, flags=re.S)
    parts = CODE.split(spaced_lists(markdown))
    for index in range(0, len(parts), 2):
        parts[index] = LINK.sub(lambda link: rewritten(link, path, page.file.src_uri, config.extra["repository"]), parts[index])
    return "".join(parts)


def rewritten(link, path, uri, repository):
    """A link of the file `path` of the repository, as a link of the page `uri`."""
    before, target, after = link.groups()
    if target.startswith("#") or re.match(r"[a-z]+:", target):
        return link.group()
    target, hash, fragment = target.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    page = OUTSIDE.get(file)
    if not page and file.startswith("docs/") and (ROOT / file).is_file():
        page = file.removeprefix("docs/")
    if not page:
        if not (ROOT / file).exists():
            raise SystemExit(f"{path}: {target} does not exist")
        kind = "tree" if (ROOT / file).is_dir() else "blob"
        return f"{before}{repository}/{kind}/main/{file}{hash}{fragment}{after}"
    return f"{before}{posixpath.relpath(page, posixpath.dirname(uri) or '.')}{hash}{fragment}{after}"


def spaced_lists(markdown):
    """Python-Markdown wants an empty line before a list, and four spaces for a level of nesting."""
    lines, in_code, in_list, previous = [], False, False, ""
    for line in markdown.split("\n"):
        in_code ^= line.lstrip().startswith("```")
        item = None if in_code else ITEM.match(line)
        if item:
            if not in_list and previous.strip():
                lines.append("")
            indent = item.group(1)
            line = " " * (2 * len(indent)) + line[len(indent) :] if len(indent) == 2 else line
        if not in_code:
            in_list = bool(item) or (in_list and (not line.strip() or line.startswith(" ") or bool(previous.strip())))
        lines.append(line)
        previous = line
    return "\n".join(lines)
