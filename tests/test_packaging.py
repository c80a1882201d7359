"""The recipes in packaging/ ask for what setup.cfg asks for, and for nothing that is not there."""

from __future__ import annotations

import configparser
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


def test_conda_environment(setup) -> None:
    text = re.sub(r"#.*", "", (PACKAGING / "environment.yml").read_text())
    wanted, pip = (re.findall(r"^ +- (\S+)$", part.rstrip(), re.MULTILINE) for part in text.split("- pip:"))
    asked = [*lines(setup, "options", "install_requires"), *lines(setup, "options.extras_require", "demo")]
    missing = set(asked) | {"python" + setup["options"]["python_requires"]} | {"openmpi>=5"}
    assert missing - set(wanted) == set()
    assert [(PACKAGING / path).resolve() for path in pip] == [ROOT]


class Recipe:
    """Stands for spack.package: notes the directives, which a recipe calls while its class is made."""

    def __init__(self) -> None:
        self.versions: list[str] = []
        self.licenses: list[str] = []
        self.dependencies: dict[str, dict] = {}

    def module(self) -> ModuleType:
        module = ModuleType("spack.package")
        module.__dict__.update(
            PythonPackage=type("PythonPackage", (), {}),
            version=lambda number, **_: self.versions.append(number),
            license=self.licenses.append,
            variant=lambda *_, **__: None,
            depends_on=lambda spec, **options: self.dependencies.__setitem__(spec, options),
            which=lambda path: lambda *words: self.commands.append([path, *words]),
        )
        self.commands: list[list[str]] = []
        return module


@pytest.mark.parametrize("since_1_0", [False, True])
def test_spack_recipe(setup, monkeypatch: pytest.MonkeyPatch, since_1_0: bool) -> None:
    recipe = Recipe()
    package = recipe.module()
    monkeypatch.setitem(sys.modules, "spack", ModuleType("spack"))
    monkeypatch.setitem(sys.modules, "spack.package", package)
    if since_1_0:  # PythonPackage has moved
        names = ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems")
        for name in names:
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        moved = SimpleNamespace(PythonPackage=package.__dict__.pop("PythonPackage"))
        monkeypatch.setitem(sys.modules, f"{names[-1]}.python", moved)  # type: ignore[arg-type]
    made = runpy.run_path(str(PACKAGING / "spack" / "py-mpigrad" / "package.py"))["PyMpigrad"]
    assert (recipe.versions, recipe.licenses) == ([__version__], [setup["metadata"]["license"]])
    always = {spec for spec, options in recipe.dependencies.items() if "when" not in options}
    spack_names = {re.sub(r"^(\w+)(?:>=(.*))?$", _spec, word) for word in lines(setup, "options", "install_requires")}
    python = "python@" + setup["options"]["python_requires"].removeprefix(">=") + ":"
    assert always == {*spack_names, python, *built_with(), "c", "mpi"}
    made().__class__.prefix = SimpleNamespace(bin=SimpleNamespace(mpigrad="/bin/mpigrad"))
    made().test_doctor()
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
    needed.add(setup["metadata"]["long_description"].removeprefix("file: "))
    assert needed == set(copied)
    extras = re.search(r"/opt/mpigrad\[(.*?)\]", sections["post"])
    assert extras is not None
    assert set(extras[1].split(",")) <= set(setup["options.extras_require"])
    assert {"test", "runscript"} <= set(sections)
