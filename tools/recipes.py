"""Read the recipes of packaging/ with their tools' parsers (py-rattler-build, spython), check Spack's style: tools/recipes.py

It finds what the tools would refuse before they fetch anything. It does not build: that needs conda-forge, Spack's packages and
a registry of containers.
"""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
from pathlib import Path

import rattler_build
from spython.main.parse.parsers import get_parser

ROOT = Path(__file__).resolve().parents[1]
PACKAGING = ROOT / "packaging"
# what the pyproject.toml of Spack's packages asks for
SPACK_STYLE = (
    "line-length = 99",
    'lint.extend-select = ["E", "I", "W"]',
    'lint.ignore = ["E731", "F403", "F405", "F811"]',  # F405: names that `from spack.package import *` brings
    'lint.isort.section-order = ["future", "standard-library", "third-party", "spack", "first-party", "local-folder"]',
    'lint.isort.sections = { spack = ["spack"] }',
)


def conda() -> None:
    recipe = rattler_build.Stage0Recipe.from_file(str(PACKAGING / "conda" / "recipe.yaml"))
    variants = rattler_build.VariantConfig.from_file(str(PACKAGING / "conda" / "variants.yaml"))
    rendered = recipe.render(variants)
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(ROOT / "setup.cfg")
    pythons = re.findall(r"Python :: 3\.(\d+)$", setup["metadata"]["classifiers"], re.MULTILINE)
    expected = {f"mpi_{mpi}_py3{minor}_0" for mpi in ("mpich", "openmpi") for minor in pythons}
    assert {variant.recipe.build.string for variant in rendered} == expected
    print("conda:", *sorted(expected))


def apptainer() -> None:
    (stage,) = get_parser("singularity")(str(PACKAGING / "mpigrad.def")).recipe.values()
    assert stage.fromHeader and stage.install and stage.test and stage.cmd
    print("apptainer:", stage.fromHeader, "with", *(line.split()[0] for line in stage.files))


def spack() -> None:
    recipe = PACKAGING / "spack" / "py_mpigrad" / "package.py"
    settings = [word for setting in SPACK_STYLE for word in ("--config", setting)]
    for command in (["check"], ["format", "--check"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, "--quiet", "--isolated", *settings, recipe], check=True)
    print("spack: the style is right")


def main() -> None:
    conda()
    apptainer()
    spack()


if __name__ == "__main__":
    main()
