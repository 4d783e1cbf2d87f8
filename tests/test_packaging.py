"""Test that pyproject.toml, requirements.lock and environment.yml agree, and that no tracked file names a machine."""

import re
import subprocess
import sys
from importlib.metadata import requires, version

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from tests.fresh_python import run_python
from utils.instructor import online_links
from utils.lessons import ROOT

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
SYSTEMS = {"linux": "posix", "darwin": "posix", "win32": "nt"}
TORCH_BRINGS = ("nvidia-", "cuda-", "triton")


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CI = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def asked_for() -> list[Requirement]:
    """Return the packages that everyone installs. Packages only for instructors are in other extras."""
    extras = PROJECT["optional-dependencies"]
    assert set(extras) == {"book", "dev", "grade", "nbgrader"}
    return [Requirement(line) for line in PROJECT["dependencies"] + extras["dev"] + extras["book"]]


def holds(requirement: Requirement, where: dict[str, str] | None = None) -> bool:
    """Return whether a requirement applies under these markers. By default, use this machine's markers."""
    return requirement.marker is None or requirement.marker.evaluate(where)


def pinned(requirements: list[Requirement], python: str, system: str) -> dict[str, str]:
    """Return `{package: version}`: the pins of the lock file for one Python on one system."""
    here = {"python_version": python, "python_full_version": f"{python}.9", "sys_platform": system}
    here |= {"os_name": SYSTEMS[system], "platform_machine": "x86_64"}
    here |= {"implementation_name": "cpython", "platform_python_implementation": "CPython"}
    chosen = [r for r in requirements if holds(r, here)]
    names = [canonicalize_name(r.name) for r in chosen]
    assert len(names) == len(set(names)), f"two versions of one package for Python {python} on {system}"
    return {name: str(r.specifier).removeprefix("==") for name, r in zip(names, chosen)}


@pytest.fixture(scope="module")
def lock() -> list[Requirement]:
    return [Requirement(line) for line in (line.partition("#")[0].strip() for line in LOCK.splitlines()) if line]


def test_the_lock_pins_every_line_and_names_no_place(lock: list[Requirement]) -> None:
    for requirement in lock:
        assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), f"{requirement} is not pinned to one version"
        assert requirement.url is None and not requirement.extras
    assert not re.search(r"://|\bfile:|^\s*-|@", LOCK, flags=re.MULTILINE)


def test_the_lock_leaves_to_torch_what_is_for_gpus(lock: list[Requirement]) -> None:
    assert not [r.name for r in lock if r.name.startswith(TORCH_BRINGS)]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_everything_asked_for_is_pinned_in_its_range(lock: list[Requirement], python: str, system: str) -> None:
    versions = pinned(lock, python, system)
    for requirement in asked_for():
        if not holds(requirement, {"python_version": python}):
            continue
        name = canonicalize_name(requirement.name)
        assert name in versions, f"{name} is in pyproject.toml and not in requirements.lock: run `make lock`"
        assert requirement.specifier.contains(versions[name]), (
            f"{name} {versions[name]} is outside {requirement}: run `make lock`"
        )


def test_a_cpu_build_of_torch_satisfies_the_lock(lock: list[Requirement]) -> None:
    (torch,) = [r for r in lock if r.name == "torch"]
    assert torch.specifier.contains("2.13.0+cpu") and torch.specifier.contains("2.13.0+cu130")


def test_pip_finds_this_environment_as_the_lock_says(lock: list[Requirement]) -> None:
    """The tests must run with the locked packages."""
    here = {requirement.name: requirement.specifier for requirement in lock if holds(requirement)}
    differs = {name: version(name) for name, pin in here.items() if not pin.contains(version(name))}
    assert not differs, f"these differ from requirements.lock: {differs}; run `make test`, which installs it"


def test_what_the_packages_need_is_pinned_too(lock: list[Requirement]) -> None:
    """If a package is added to the lock by hand without its dependencies, pip chooses their versions."""
    here = {canonicalize_name(r.name) for r in lock if holds(r)}
    missing = {}
    for name in sorted(here):
        needs = [Requirement(line) for line in requires(name) or ()]
        needs = {canonicalize_name(r.name) for r in needs if holds(r, {"extra": ""})}
        missing |= {need: name for need in needs - here if not need.startswith(TORCH_BRINGS)}
    assert not missing, f"these are needed and not in requirements.lock (needed, by whom): {missing}"


def test_a_learner_installs_all_packages_but_those_for_developers(lock: list[Requirement]) -> None:
    """The dependencies of the course, followed through the metadata of the packages, are those without a mark."""
    marked = {canonicalize_name(line.partition("==")[0]) for line in LOCK.splitlines() if line.endswith("# dev")}
    queue, visited = [Requirement(line) for line in PROJECT["dependencies"]], set()
    while queue:
        requirement = queue.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, extras) in visited or not holds(requirement, {"extra": ""}) or name.startswith(TORCH_BRINGS):
            continue
        visited.add((name, extras))
        for need in map(Requirement, requires(name) or ()):
            if any(holds(need, {"extra": extra}) for extra in {"", *extras}):
                need.marker = None
                queue.append(need)
    needed = {name for name, _ in visited}
    here = {canonicalize_name(r.name) for r in lock if holds(r)}
    assert needed == here - marked, "run `make lock`"
    assert {"pytest", "ruff", "basedpyright", "playwright", "sphinx", "distributed", "pre-commit"} <= marked
    assert len(needed) > 100


def test_conda_takes_the_same_road() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    conda = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    names = [Requirement(entry).name for entry in conda]
    assert names == ["python", "pip"], "packages come from the lock, not from conda"
    assert pip == ["-c requirements.lock", "-e ."]
    allowed = Requirement(conda[0]).specifier
    assert all(allowed.contains(python) for python in PYTHONS)
    lowest = PROJECT["requires-python"]
    assert lowest == ">=3.10" and lowest in str(allowed)


def test_ci_runs_the_oldest_and_the_newest_python_on_each_system() -> None:
    jobs = CI["jobs"]
    ubuntu = {each["python"] for each in jobs["cpu"]["strategy"]["matrix"]["include"]}
    others = jobs["systems"]["strategy"]["matrix"]
    assert {PYTHONS[0], PYTHONS[-1]} <= ubuntu <= set(PYTHONS)
    assert {PYTHONS[0], PYTHONS[-1]} == set(others["python"])
    assert others["os"] == ["windows-latest", "macos-latest"]
    assert all((ROOT / room).is_dir() for room in CI["env"]["ROOMS"].split())


def test_ci_looks_once_a_week_at_the_newest_of_everything_and_at_colab() -> None:
    on = CI[True]  # YAML parses the key `on` as True
    assert re.fullmatch(r"\d+ \d+ \* \* \d", on["schedule"][0]["cron"])
    for name in ("newest", "colab"):
        assert "schedule" in CI["jobs"][name]["if"]
    (asked,) = [step["run"] for step in CI["jobs"]["colab"]["steps"] if "online" in step.get("run", "")]
    code = asked.split('"')[1]
    done = run_python("-c", code)
    assert done.stdout.split() == online_links.colab_requirements(), done.stderr


def test_ci_keeps_of_colabs_list_what_the_course_does_not_install() -> None:
    (step,) = [step["run"] for step in CI["jobs"]["colab"]["steps"] if "sed" in step.get("run", "")]
    kept = set(step.split("'")[1].split("|"))
    asked = {Requirement(line).name for line in PROJECT["dependencies"]}
    assert kept - asked == {"ipython"} and not kept & set(online_links.FETCHED)


def test_the_lowest_versions_that_ci_tries_are_those_of_the_list() -> None:
    """Without `--no-config`, uv would use the locked torch as the lowest version."""
    runs = [step.get("run", "") for step in CI["jobs"]["lowest"]["steps"]]
    (made,) = [run for run in runs if "lowest-direct" in run]
    assert made.startswith("uv --no-config pip compile pyproject.toml") and PYTHONS[0] in str(CI["jobs"]["lowest"])


def test_the_command_is_coginst() -> None:
    assert PROJECT["scripts"] == {"coginst": "utils.cli.commands:app"}


# Spelt in two parts, so that this file does not match its own pattern.
HOSTS = r"pypi#\.org|pythonhosted#\.org|download#\.pytorch#\.org|anaconda#\.org|registry#\.npmjs".replace("#", "")
PLACES = re.compile(rf"{HOSTS}|(?<![\w./~$}}])/(?:home|Users|root|work|opt|mnt|tmp)/\w|\b[A-Z]:\\\\?Users\b")


# The homes of JupyterHub's images, and the homes and the folder of The Littlest JupyterHub, are the same everywhere.
PLATFORM_PATHS = re.compile(r"/home/jovyan|/home/jupyter-|/opt/tljh")


def test_nothing_tracked_names_a_machine_or_a_registry() -> None:
    """A home folder exists for one person only, and a registry address in one network only."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    ).stdout
    found = []
    for name in filter(None, listed.split("\0")):
        try:
            lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        except (UnicodeDecodeError, FileNotFoundError):  # a binary file, or a file that is being deleted
            continue
        found += [
            f"{name}:{at}: {line.strip()[:80]}"
            for at, line in enumerate(lines, 1)
            if PLACES.search(PLATFORM_PATHS.sub("", line))
        ]
    assert not found, "\n".join(found)
