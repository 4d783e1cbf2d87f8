"""Test that the files of deploy/hub agree with each other and with docs/hub.md."""

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from utils.lessons import ROOT

FOLDER = ROOT / "deploy" / "hub"
PAGE = (ROOT / "docs" / "hub.md").read_text(encoding="utf-8")
VALUES = yaml.safe_load((FOLDER / "values.yaml").read_text(encoding="utf-8"))
DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["install", "littlest", "start-server"])
def test_a_script_is_valid_and_can_be_run(name):
    subprocess.run(["bash", "-n", FOLDER / name], check=True)
    assert (FOLDER / name).stat().st_mode & 0o111


def test_the_image_contains_the_server_that_the_values_start():
    assert VALUES["singleuser"]["cmd"] in DOCKERFILE and VALUES["singleuser"]["cmd"].endswith(
        "/deploy/hub/start-server"
    )


def test_the_page_names_the_versions_that_belong_together():
    (version,) = re.findall(r"^ARG JUPYTERHUB=(\S+)", DOCKERFILE, re.MULTILINE)
    (chart,) = re.findall(r"--version (\S+)", (FOLDER / "values.yaml").read_text(encoding="utf-8"))
    assert f"JupyterHub {version}" in PAGE and f"--version {chart}" in PAGE and f"version {chart}" in DOCKERFILE


def test_the_page_names_every_file():
    assert [path.name for path in FOLDER.iterdir() if path.name not in PAGE] == []


def test_what_a_learners_server_writes_is_private(tmp_path: Path) -> None:
    """Both the folder of an earlier pull and new files. Before the first pull, there is no such folder."""
    home, installation = tmp_path / "home", tmp_path / "installation"
    home.mkdir()
    (installation / ".venv" / "bin").mkdir(parents=True)
    shutil.copytree(FOLDER, installation / "deploy" / "hub")
    server = installation / ".venv" / "bin" / "python"
    server.write_text('#!/bin/sh\nmkdir -p "$HOME/attention/course"\n', encoding="utf-8")
    server.chmod(0o755)
    attention = home / "attention"
    start = {"args": [installation / "deploy" / "hub" / "start-server"], "env": {"HOME": home, "PATH": "/usr/bin:/bin"}}
    subprocess.run(**start, check=True)
    assert [path.stat().st_mode & 0o777 for path in (attention, attention / "course")] == [0o700, 0o700]
    attention.chmod(0o755)
    subprocess.run(**start, check=True)
    assert attention.stat().st_mode & 0o777 == 0o700


def test_the_service_runs_what_the_page_installs() -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str
    unit.read(FOLDER / "attention-hub.service", encoding="utf-8")
    program, option, config = unit["Service"]["ExecStart"].split()
    assert option == "-f" and program.removesuffix("/bin/jupyterhub") in PAGE and config in PAGE
    assert (ROOT / Path(config).relative_to("/srv/attention")).is_file()
    assert f"install -d -m 700 {unit['Service']['WorkingDirectory']}" in PAGE
    assert unit["Install"]["WantedBy"] == "multi-user.target"
