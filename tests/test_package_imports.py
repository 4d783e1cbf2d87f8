"""Test the properties of the packages in `utils` that import-linter's contract in pyproject.toml cannot express."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest

from utils.lessons import ROOT

MAX_LINES = 400  # of a module of the check engine
UTILS = ROOT / "utils"


def imported_names(package: str) -> Iterator[tuple[str, str]]:
    """Yield each name that a package of `utils` imports from `utils`, with the place of its import."""
    for path in (UTILS / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "utils":
                yield from ((f"{node.module}.{alias.name}", place) for alias in node.names)
            elif isinstance(node, ast.Import):
                yield from ((alias.name, place) for alias in node.names if alias.name.split(".")[0] == "utils")


def test_no_package_imports_private_names_of_another():
    packages = [path.name for path in UTILS.iterdir() if path.is_dir()]
    private = [
        f"{place}: {name}"
        for package in packages
        for name, place in imported_names(package)
        if name.split(".")[1:2] != [package] and "._" in name
    ]
    assert not private, "\n".join(private)


def test_no_package_hides_one_of_its_modules():
    """`from package import name` gives the module, or the package holds no such name."""
    packages = [".".join(path.parent.relative_to(ROOT).parts) for path in sorted(UTILS.rglob("__init__.py"))]
    for package in packages:
        holder = importlib.import_module(package)
        for part in pkgutil.iter_modules(holder.__path__):
            held = vars(holder).get(part.name)
            assert held is None or held.__name__ == f"{package}.{part.name}", f"{package}.{part.name} is hidden"


def test_utils_has_no_module_outside_its_packages():
    assert [path.name for path in UTILS.glob("*.py")] == ["__init__.py"]


def test_modules_of_the_engine_are_short():
    for path in (*(UTILS / "exercises").glob("*.py"), *(UTILS / "feedback").glob("*.py")):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES, path.name
    assert len((UTILS / "feedback" / "diagnose.py").read_text(encoding="utf-8").splitlines()) < 300


def test_the_vocabulary_is_short():
    assert len((UTILS / "__init__.py").read_text(encoding="utf-8").splitlines()) < 40


@pytest.mark.parametrize("package", [p.parent.name for p in sorted(UTILS.glob("*/__init__.py"))])
def test_the_docstring_of_a_package_says_where_to_start_and_what_it_imports(package):
    doc = " ".join((ast.get_docstring(ast.parse((UTILS / package / "__init__.py").read_text("utf-8"))) or "").split())
    start, imports = re.search(r"Start with `(\w+)`\. Imports: ([\w, ]+)\.$", doc).groups()
    assert (UTILS / package / f"{start}.py").is_file()
    named = set() if imports == "no other package" else set(imports.split(", "))
    parts = {name.split(".")[1] for name, _ in imported_names(package) if "." in name}
    assert named == {part for part in parts if (UTILS / part).is_dir()} - {package}
