"""Checks links: of the built site (`links.py site FOLDER`), and of all Markdown files of the repository (`links.py repository`).

A link is broken if its file does not exist, or if its fragment is the id of no element, or of no heading. Links to other servers are not followed, but those
to registries and hosts where nothing is published yet are refused in Markdown files.
"""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\)")
CODE = re.compile(r"^(```+).*?^\1[^\n]*$|`[^`\n]+`", re.S | re.M)
# Pages that do not exist before the release.
UNPUBLISHED = re.compile(r"https?://(?:crates\.io/crates|docs\.rs|pypi\.org/project|lib\.rs/crates)/ptx(?:kit|-)")
# The procedure of releases has the lines for the time after it.
RELEASES = {"docs/releasing.md", "CONTRIBUTING.md"}


class Page(HTMLParser):
    """The links and ids of a page of the site."""

    def __init__(self):
        super().__init__()
        self.links, self.ids = [], {""}

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.update(value for name, value in attributes.items() if name in ("id", "name") and value)
        link = attributes.get("href" if tag in ("a", "link") else "src")
        if link:
            self.links.append(link)


def broken_in_site(folder):
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        pages[path.resolve()] = page = Page()
        page.feed(path.read_text(encoding="utf-8"))
    for path, page in pages.items():
        # The page of a missing file is shown at any address.
        if path.name == "404.html":
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            if not target.is_file():
                yield f"{path.relative_to(folder.resolve())}: {link}"
            elif target in pages and unquote(parts.fragment) not in pages[target].ids:
                yield f"{path.relative_to(folder.resolve())}: {link} has no such heading"
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links")


def fragments(text):
    """The fragments of the headings of a Markdown file, as GitHub makes them."""
    found, counts = {""}, {}
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", re.sub(r"^(```+).*?^\1[^\n]*$", "", text, flags=re.S | re.M), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = counts.get(slug, 0)
        counts[slug] = count + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found


def broken_in_repository():
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True)
    names = [name for name in sorted(set(files.stdout.split("\n"))) if name and (ROOT / name).is_file()]
    count = 0
    for name in names:
        text = (ROOT / name).read_text(encoding="utf-8")
        if name not in RELEASES:
            for match in UNPUBLISHED.finditer(text):
                yield f"{name}: {match.group()}… does not exist yet"
        for link in LINK.findall(CODE.sub("", text)):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (ROOT / name).parent / unquote(parts.path) if parts.path else ROOT / name
            if not target.exists():
                yield f"{name}: {link}"
            elif parts.fragment and target.suffix == ".md" and parts.fragment not in fragments(target.read_text(encoding="utf-8")):
                yield f"{name}: {link} has no such heading"
    print(f"{len(names)} files, {count} links")


def main():
    broken = list(broken_in_repository() if sys.argv[1] == "repository" else broken_in_site(Path(sys.argv[2])))
    print(*broken, sep="\n")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
