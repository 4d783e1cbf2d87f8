"""Test the import contract of the packages in `utils`, read from the source, lazy imports included."""

import ast
import importlib
import pkgutil
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import utils
from utils.lessons import ROOT

# Each package with the packages that it may import.
ALLOWED = {
    "lessons": set(),
    "gpt2": {"lessons"},
    "show": {"lessons"},
    "live": set(),  # utils.explore.widget and .training_display: the training loop displays its progress with them
    "loop": {"live"},  # utils.training.loop: models import it, and the training recipes import the models
    "models": {"lessons", "live", "loop", "show", "gpt2"},
    "training": {"lessons", "gpt2", "loop", "models"},
    "explore": {"lessons", "live", "show", "models", "gpt2", "feedback"},
    "test_doubles": {"lessons", "gpt2", "models"},
    "feedback": {"lessons", "show"},
    "checks": {"lessons", "feedback", "test_doubles", "models", "gpt2"},
    "notebook": {"lessons", "feedback", "show", "live", "explore"},
    "instructor": {"lessons", "feedback"},
    "grading": {"lessons", "feedback", "test_doubles", "models", "gpt2", "show", "instructor"},
    "book": {"lessons", "feedback", "show", "live", "instructor"},
    "cli": {"lessons", "gpt2", "training", "instructor", "grading", "book"},
}
MAX_LINES = 400  # of a module of the check engine
UTILS = ROOT / "utils"


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {name_of(path): path for path in sorted(UTILS.rglob("*.py"))}


def nearest(name: str) -> str:
    """Return the module that a dotted name is, or belongs to."""
    while name not in SOURCES:
        name = name.rpartition(".")[0]
    return name


def imported(module: str) -> list[tuple[str, str]]:
    """Return every import from `utils` in a module: the imported module, and the imported name."""
    imports = []
    for node in ast.walk(ast.parse(SOURCES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "utils":
            for alias in node.names:
                imports.append((nearest(f"{node.module}.{alias.name}"), alias.name))
        elif isinstance(node, ast.Import):
            imports += [(nearest(alias.name), "") for alias in node.names if alias.name.split(".")[0] == "utils"]
    return [(other, name) for other, name in imports if other != module]


@cache
def imports() -> dict[str, list[tuple[str, str]]]:
    return {module: imported(module) for module in SOURCES}


def package_of(module: str) -> str:
    if module == "utils.training.loop":
        return "loop"
    if module in ("utils.explore.widget", "utils.explore.training_display"):
        return "live"
    return module.split(".")[1] if "." in module else ""


def test_every_package_is_listed():
    assert {path.name for path in UTILS.iterdir() if path.is_dir()} - {"assets", "__pycache__"} == set(ALLOWED) - {
        "live",
        "loop",
    }
    assert [path.name for path in UTILS.glob("*.py")] == ["__init__.py"]


def test_no_import_cycle_of_modules():
    graph = {module: {other for other, _ in found} for module, found in imports().items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_every_import_is_allowed_and_packages_have_no_cycle():
    wrong = [
        f"{module} imports {other}"
        for module, found in imports().items()
        for other, _ in found
        if package_of(module)
        and package_of(other) not in {package_of(module), ""} | ALLOWED[package_of(module)]
    ]
    assert not wrong, "\n".join(wrong)
    TopologicalSorter(ALLOWED).prepare()


def test_no_package_imports_private_names_of_another():
    wrong = [
        f"{module} imports {name} from {other}"
        for module, found in imports().items()
        for other, name in found
        if package_of(module) != package_of(other) and (name.startswith("_") or "._" in other)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_package_hides_one_of_its_modules():
    """`from package import name` gives the module, or the package holds no such name."""
    for package in ["utils", *(n for n, path in SOURCES.items() if path.name == "__init__.py")]:
        holder = importlib.import_module(package)
        for part in pkgutil.iter_modules(holder.__path__):
            held = vars(holder).get(part.name)
            assert held is None or held.__name__ == f"{package}.{part.name}", f"{package}.{part.name} is hidden"


def test_modules_of_the_engine_are_short():
    for path in (UTILS / "feedback").glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES, path.name
    assert len((UTILS / "feedback" / "diagnose.py").read_text(encoding="utf-8").splitlines()) < 300


def test_the_vocabulary_is_short_and_comes_when_it_is_used():
    assert len(Path(utils.__file__).read_text(encoding="utf-8").splitlines()) < 40
