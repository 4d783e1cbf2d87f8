"""Test that the files of deploy/hub agree with each other and with docs/hub.md."""

import re
import subprocess

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
