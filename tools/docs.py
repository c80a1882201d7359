"""Check the documentation and, given a directory, build the site there: tools/docs.py [OUTPUT]

Checked: relative links lead to files and headings that exist, examples written as sessions (>>>) give what they say,
and other Python examples compile (tests/test_docs.py runs them). Built with Sphinx from docs/ and the reference; its warnings
are errors.
"""

from __future__ import annotations

import doctest
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def pages() -> list[Path]:
    """Every Markdown file of the project."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])


def anchors(page: Path) -> set[str]:
    """The names by which the headings of a page can be linked."""
    headings = re.findall(r"^#+ +(.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> Iterator[str]:
    """Relative links of a page whose target does not exist."""
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        if not other.exists():
            yield f"{page.relative_to(ROOT)}: link to {target}, which does not exist"
        elif anchor and other.suffix == ".md" and anchor not in anchors(other):
            yield f"{page.relative_to(ROOT)}: link to {target}, but there is no such heading"


def broken_examples(page: Path) -> Iterator[str]:
    """Python examples of a page that do not compile, or do not print what the page shows."""
    names: dict[str, object] = {}
    for language, code in FENCE.findall(page.read_text()):
        where = f"{page.relative_to(ROOT)}: example starting {code.strip().splitlines()[0]!r}" if code.strip() else ""
        if language in ("python", "pycon") and ">>>" in code:
            test = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), 0)
            runner = doctest.DocTestRunner(optionflags=OPTIONS)
            if runner.run(test, clear_globs=False).failed:
                yield f"{where} gives something else (above)"
            names = test.globs
        elif language == "python":
            try:
                compile(code, str(page), "exec")
            except SyntaxError as error:
                yield f"{where} does not compile: {error}"


def within_site(page: Path) -> str:
    """A page of docs/ prepared for the site: links to files that the site does not contain become plain text."""
    text = FENCE.sub(lambda found: found[0].replace("\n\n```", "\n```"), page.read_text())

    def link(found: re.Match[str]) -> str:
        target = (page.parent / found[2].partition("#")[0]).resolve()
        return found[0] if (ROOT / "docs") in target.parents else f"`{found[1]}`"

    return re.sub(r"\[([^\]]*)\]\((\.\./[^)\s]*)\)", link, text)


def build(output: str) -> int:
    """Build the site: the pages of docs/ and the reference, from a copy."""
    import reference
    from sphinx.cmd.build import main as sphinx

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "docs"
        shutil.copytree(ROOT / "docs", source)
        for page in (ROOT / "docs").rglob("*.md"):
            (source / page.relative_to(ROOT / "docs")).write_text(within_site(page))
        reference.write(source / "reference")
        return sphinx(["-q", "-W", "--keep-going", "-b", "html", "-d", f"{folder}/cache", str(source), output])


def main() -> int:
    """Check, then build."""
    problems = [problem for page in pages() for check in (broken_links, broken_examples) for problem in check(page)]
    print(f"{len(pages())} pages checked, {len(problems)} problems")
    code = build(sys.argv[1]) if len(sys.argv) > 1 else 0
    for problem in problems:
        print(problem)
    return 1 if problems or code else 0


if __name__ == "__main__":
    sys.exit(main())
