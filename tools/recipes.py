"""Read the recipes of packaging/ with the parsers of their tools (py-rattler-build, spython): tools/recipes.py

It finds what the tools would refuse before they fetch anything. It does not build: that needs conda-forge and a registry of
containers.
"""

from __future__ import annotations

from pathlib import Path

import rattler_build
from spython.main.parse.parsers import get_parser

PACKAGING = Path(__file__).resolve().parents[1] / "packaging"


def main() -> None:
    recipe = rattler_build.Stage0Recipe.from_file(str(PACKAGING / "conda" / "recipe.yaml"))
    variants = rattler_build.VariantConfig.from_file(str(PACKAGING / "conda" / "variants.yaml"))
    rendered = recipe.render(variants)
    assert len(rendered) == 8, "four Pythons and two MPIs"
    print("conda:", *sorted(variant.recipe.build.string for variant in rendered))
    (stage,) = get_parser("singularity")(str(PACKAGING / "mpigrad.def")).recipe.values()
    assert stage.fromHeader and stage.install and stage.test and stage.cmd
    print("apptainer:", stage.fromHeader, "with", *(line.split()[0] for line in stage.files))


if __name__ == "__main__":
    main()
