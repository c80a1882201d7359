"""The recipes in packaging/ ask for what setup.cfg asks for, and for nothing that is not there."""

from __future__ import annotations

import ast
import configparser
import json
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from mpigrad._version import __version__

ROOT = Path(__file__).parents[1]
PACKAGING = ROOT / "packaging"


@pytest.fixture(scope="module")
def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg")
    return parser


def lines(setup: configparser.ConfigParser, section: str, name: str) -> list[str]:
    return setup[section][name].split()


def test_the_version_is_that_of_the_changelog() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == __version__


def test_conda_environment(setup) -> None:
    text = re.sub(r"#.*", "", (PACKAGING / "environment.yml").read_text())
    wanted, pip = (re.findall(r"^ +- (\S+)$", part.rstrip(), re.MULTILINE) for part in text.split("- pip:"))
    asked = [*lines(setup, "options", "install_requires"), *lines(setup, "options.extras_require", "demo")]
    missing = set(asked) | {"python" + setup["options"]["python_requires"]} | {"openmpi>=5"}
    assert missing - set(wanted) == set()
    assert [(PACKAGING / path).resolve() for path in pip] == [ROOT]


def test_conda_recipe(setup) -> None:
    text = (PACKAGING / "conda" / "recipe.yaml").read_text()
    assert f'version: "{__version__}"' in text
    host, run = (re.findall(r"^    - (.*)$", part, re.MULTILINE) for part in re.split(r"  (?:run|host):\n", text)[1:])
    asked = {re.sub(">=", " >=", word) for word in lines(setup, "options", "install_requires")}
    assert asked | {"python " + setup["options"]["python_requires"], "${{ mpi }}"} == set(run[: len(asked) + 2])
    assert {re.sub(r"^py-(\w+)@(.*):$", r"\1 >=\2", word) for word in built_with()} <= set(host)


class Recipe:
    """Stands for the modules of Spack: notes the directives, which a recipe calls while its class is made."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.versions: list[str] = []
        self.licenses: list[str] = []
        self.dependencies: dict[str, dict] = {}
        self.commands: list[list[str]] = []
        self.variables: dict[str, str] = {}
        directives = {
            "version": lambda number, **_: self.versions.append(number),
            "license": self.licenses.append,
            "depends_on": lambda spec, **options: self.dependencies.__setitem__(spec, options),
            "conflicts": lambda *_, **__: None,
            "which": lambda path: lambda *words: self.commands.append([path, *words]),
            "EnvironmentModifications": object,
        }
        systems = "spack_repo.builtin.build_systems"
        for name in ("spack", "spack_repo", "spack_repo.builtin", systems):
            patch.setitem(sys.modules, name, ModuleType(name))
        python = {"PythonPackage": type("PythonPackage", (), {})}
        cuda = {"CudaPackage": type("CudaPackage", (), {"cuda_arch_values": ("80", "90")})}
        for name, holds in (("spack.package", directives), (f"{systems}.python", python), (f"{systems}.cuda", cuda)):
            module = ModuleType(name)
            module.__dict__.update(holds)
            patch.setitem(sys.modules, name, module)


def test_spack_recipe(setup, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe(monkeypatch)
    made = runpy.run_path(str(PACKAGING / "spack" / "py_mpigrad" / "package.py"))["PyMpigrad"]
    assert (recipe.versions, recipe.licenses) == ([__version__], [setup["metadata"]["license"]])
    assert f"mpigrad-{__version__}.tar.gz" in made.pypi
    always = {spec for spec, options in recipe.dependencies.items() if "when" not in options}
    spack_names = {re.sub(r"^(\w+)(?:>=(.*))?$", _spec, word) for word in lines(setup, "options", "install_requires")}
    python = "python@" + setup["options"]["python_requires"].removeprefix(">=") + ":"
    assert always == {*spack_names, python, *built_with(), "c", "cxx", "mpi"}
    cupy = setup["options.extras_require"]["gpu"].partition(">=")[2]
    arches = {spec: options["when"] for spec, options in recipe.dependencies.items() if "when" in options}
    assert arches == {f"py-cupy@{cupy}: {cuda}": cuda for cuda in ("+cuda cuda_arch=80", "+cuda cuda_arch=90")}
    package = made()
    package.setup_build_environment(SimpleNamespace(set=recipe.variables.__setitem__))
    assert recipe.variables == {"MPIGRAD_COMPILED": "1"}
    package.prefix = SimpleNamespace(bin=SimpleNamespace(mpigrad="/bin/mpigrad"))
    package.test_doctor()
    assert recipe.commands == [["/bin/mpigrad", "doctor", "-n", "2"]]


def built_with() -> set[str]:
    """What pyproject.toml asks for, as Spack says it."""
    words = re.search(r"^requires = \[(.*)\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert words is not None
    return {re.sub(r'^"(\w+)>=(.*)"$', r"py-\1@\2:", word).lower() for word in words[1].split(", ")}


def _spec(match: re.Match[str]) -> str:
    return f"py-{match[1]}@{match[2]}:" if match[2] else f"py-{match[1]}"


def test_apptainer_definition(setup) -> None:
    text = (PACKAGING / "mpigrad.def").read_text()
    sections = dict(re.findall(r"^%(\w+)\n((?:    .*\n)+)", text, re.MULTILINE))
    copied = dict(line.split() for line in sections["files"].splitlines())
    assert all((ROOT / source).exists() for source in copied), copied
    needed = {"setup.cfg", "setup.py", "pyproject.toml", "mpigrad", setup["metadata"]["license_files"]}
    needed |= {"README.md", *(f"{name}.py" for name in lines(setup, "options", "py_modules"))}
    assert needed == set(copied)
    extras = re.search(r"/opt/mpigrad\[(.*?)\]", sections["post"])
    assert extras is not None
    assert set(extras[1].split(",")) <= set(setup["options.extras_require"])
    assert {"test", "runscript"} <= set(sections)


def readme_of(source: str) -> str:
    index_page = _functions(ROOT / "setup.py")["index_page"]
    return index_page((ROOT / "README.md").read_text(), source)


def _functions(path: Path) -> dict:
    """The functions of setup.py, without running it."""
    tree = ast.parse(path.read_text())
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ImportFrom) and node.col_offset == 0]
    tree.body = [node for node in tree.body if not isinstance(node, ast.ImportFrom) or node.module == "__future__"]
    names: dict = {"re": re}
    exec(compile(tree, str(path), "exec"), names)
    return names


def test_an_index_page_has_no_link_to_a_file_that_it_does_not_have() -> None:
    relative = re.compile(r"\[[^\]]*\]\((?!https?://|#)[^)]*\)")
    assert relative.search((ROOT / "README.md").read_text())
    assert not relative.search(readme_of(""))
    linked = readme_of("https://example.org/mpigrad/main/")
    assert not relative.search(linked)
    assert "](https://example.org/mpigrad/main/docs/tutorial.md)" in linked
    assert "![" not in readme_of("")


def test_the_source_archive_holds_what_git_knows() -> None:
    """All that the checkout has: MANIFEST.in names it by folder."""
    grafted = re.findall(r"^(?:graft|include) (.*)$", (ROOT / "MANIFEST.in").read_text(), re.MULTILINE)
    words = {word for line in grafted for word in line.split()}
    assert {path.name for path in ROOT.iterdir()} >= words
    for needed in ("examples", "docs", "tests", "tools", "CHANGELOG.md", "setup.py"):
        assert needed in words


def test_the_page_of_what_was_verified_is_that_of_its_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    matrix = runpy.run_path(str(ROOT / "tools" / "matrix.py"), run_name="matrix")
    text = (ROOT / "docs" / "verified.md").read_text()
    results = json.loads((ROOT / "docs" / "verified.json").read_text())
    assert matrix["page"](text, results) == text, "run tools/matrix.py --write"
    assert not [result for result in results if result["code"]]
