"""`coginst fetch gpt2` against a server on this machine that speaks as the hub does, and `coginst doctor`."""

import hashlib
import http.server
import os
import re
import threading
import time
import types

import huggingface_hub
import pytest
import torch
from huggingface_hub import constants
from typer.testing import CliRunner

from tests.fresh_python import run_python
from utils.cli import doctor, fetch
from utils.cli.commands import app

COMMIT = "0" * 39 + "1"
PATH = constants.HUGGINGFACE_CO_URL_TEMPLATE.removeprefix(constants.ENDPOINT)


class Hub(http.server.BaseHTTPRequestHandler):
    """Serves the files in `self.server.files`; cuts the first `cuts` transfers of a large file in the middle."""

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        name = self.path.rsplit("/", 1)[-1]
        data = self.server.files.get(name)
        if data is None or "/openai-community/gpt2/resolve/main/" not in self.path:
            self.send_error(404)
            return
        start = int(self.headers["Range"].split("=")[1].split("-")[0]) if self.headers.get("Range") else 0
        self.server.asked.append((self.command, name, start))
        self.send_response(206 if start else 200)
        self.send_header("ETag", f'"{self.server.etags.get(name) or hashlib.sha256(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(data) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        if body:
            cut = self.server.cuts > 0 and len(data) > 10_000
            self.server.cuts -= cut
            rest = data[start:]
            self.wfile.write(rest[: len(rest) // 2] if cut else rest)
            self.close_connection = cut


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    from transformers import GPT2Config, GPT2LMHeadModel

    folder = tmp_path_factory.mktemp("served")
    with torch.random.fork_rng():
        GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=128, n_positions=16)).save_pretrained(
            folder
        )  # 25 MB: the client keeps 10 MB at a time
    return {name: (folder / name).read_bytes() for name in ("config.json", "model.safetensors")}


@pytest.fixture
def hub(files):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.files, server.etags, server.asked, server.cuts = dict(files), {}, [], 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def address(hub):
    return f"http://127.0.0.1:{hub.server_address[1]}"


def process(*words, home, **more):
    """`coginst` in a Python of its own, which reads the variables as a user's does."""
    names = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and k != "COURSE_GPT2"}
    names |= {
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "COURSE_OUTBOUND": "",
    }
    return run_python("-m", "utils.cli", *words, env=names | more)


@pytest.fixture
def coginst(monkeypatch, tmp_path):
    """`coginst` in this Python, with its cache in `tmp_path`; the hub's client has read its variables long ago."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("COURSE_GPT2", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)

    def run(*words, endpoint="http://127.0.0.1:9", **more):
        monkeypatch.setattr(constants, "ENDPOINT", endpoint)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + PATH)
        return CliRunner().invoke(app, words, env=more)

    huggingface_hub.close_session()  # a session keeps the proxies that it met
    yield run
    huggingface_hub.close_session()


def test_what_is_fetched_is_used_from_then_on(hub, tmp_path, files, coginst):
    done = process("fetch", "gpt2", home=tmp_path, HF_ENDPOINT=address(hub))
    assert done.returncode == 0, done.stdout + done.stderr
    assert fetch.next_weights_notice() in done.stdout and "Using" not in done.stdout
    snapshot = tmp_path / "hub" / "models--openai-community--gpt2" / "snapshots" / COMMIT
    assert (snapshot / "model.safetensors").read_bytes() == files["model.safetensors"]
    told = coginst("doctor")
    assert told.exit_code == 0 and "GPT-2, 1 layers, width 128: found in the Hugging Face cache" in told.stdout, (
        told.stdout
    )
    before = len([a for a in hub.asked if a[0] == "GET"])
    assert coginst("fetch", "gpt2", endpoint=address(hub)).exit_code == 0
    assert len([a for a in hub.asked if a[0] == "GET"]) == before  # what is there is not fetched again


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_download_that_was_cut_off_goes_on_where_it_stopped(hub, tmp_path, files, share, coginst):
    """The run that was cut off left part of the file, or all of it."""
    data = files["model.safetensors"]
    blobs = tmp_path / "hub" / "models--openai-community--gpt2" / "blobs"
    blobs.mkdir(parents=True)
    partial = blobs / f"{hashlib.sha256(data).hexdigest()}.partial"
    partial.write_bytes(data[: int(len(data) * share)])
    done = coginst("fetch", "gpt2", endpoint=address(hub))
    assert done.exit_code == 0, done.stdout + done.stderr
    assert [start for method, name, start in hub.asked if method == "GET" and name == "model.safetensors"] == [
        len(data) // 2
    ] * (share < 1)
    assert not partial.exists() and next(tmp_path.rglob("model.safetensors")).read_bytes() == data


def test_what_has_arrived_is_kept_when_the_server_goes_away(hub, tmp_path, files, coginst, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # the client waits before it tries again
    hub.cuts = 99
    done = coginst("fetch", "gpt2", endpoint=address(hub))
    assert done.exit_code == 2 and "Run `coginst fetch gpt2` again" in done.stderr, done.stderr
    partial = next(tmp_path.rglob("*.partial"))
    assert files["model.safetensors"].startswith(partial.read_bytes()) and partial.stat().st_size > 0
    hub.cuts = 0
    assert coginst("fetch", "gpt2", endpoint=address(hub)).exit_code == 0
    assert next(tmp_path.rglob("model.safetensors")).read_bytes() == files["model.safetensors"]


def test_a_file_that_is_not_what_the_server_says_is_removed(hub, tmp_path, coginst):
    hub.etags["model.safetensors"] = "a" * 64
    done = coginst("fetch", "gpt2", endpoint=address(hub))
    assert done.exit_code == 2 and "SHA-256" in done.stderr and "aaaaaaaaaaaa…" in done.stderr, done.stderr
    assert not list(tmp_path.rglob("model.safetensors")) and not list(tmp_path.rglob("a" * 64))


def test_what_was_damaged_on_disk_is_fetched_again(hub, tmp_path, files, coginst):
    """In the client's own cache too; it would take any file of that name for good. The announced cure must cure."""
    assert coginst("fetch", "gpt2", endpoint=address(hub)).exit_code == 0
    file = next(tmp_path.rglob("model.safetensors"))
    for damage in (lambda data: data[:-50], lambda data: data[:-50] + bytes(50)):
        file.write_bytes(damage(files["model.safetensors"]))
        done = coginst("fetch", "gpt2", endpoint=address(hub))
        assert done.exit_code == 0, done.stdout + done.stderr
        assert "model.safetensors is damaged" in done.stdout
        assert file.read_bytes() == files["model.safetensors"]


def test_a_choice_that_comes_first_is_told(hub, coginst, snapshot):
    done = coginst("fetch", "gpt2", endpoint=address(hub), COURSE_GPT2="bundled")
    assert done.exit_code == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == snapshot


def test_a_full_disk_is_told_before_anything_is_fetched(monkeypatch, tmp_path, snapshot):
    monkeypatch.setattr(fetch.shutil, "disk_usage", lambda folder: types.SimpleNamespace(free=10_000_000))
    fetch._require_disk_space(9_000_000, tmp_path)
    with pytest.raises(fetch.FetchError) as error:
        fetch._require_disk_space(548_000_000, tmp_path)
    assert str(error.value).replace(str(tmp_path), "FOLDER") == snapshot


def test_content_is_compared_with_either_name_that_the_hub_gives(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"hello\n")
    git, sha = (
        "ce013625030ba8dba906f756967f9e9ca394464a",
        hashlib.sha256(b"hello\n").hexdigest(),
    )  # git's: `git hash-object`
    for etag in (git, sha, "an-etag-of-a-mirror"):
        assert not fetch._describe_mismatch(file, types.SimpleNamespace(etag=etag, size=6))
        assert "7" in fetch._describe_mismatch(file, types.SimpleNamespace(etag=etag, size=7))
    assert "SHA-1" in fetch._describe_mismatch(file, types.SimpleNamespace(etag="a" * 40, size=6))


@pytest.mark.parametrize("endpoint, offline", [("hub.example.org", False), ("https://example.org", True)])
def test_settings_that_forbid_it_are_named(endpoint, offline, snapshot):
    with pytest.raises(fetch.FetchError) as error:
        fetch._require_network(endpoint, offline)
    assert str(error.value) == snapshot


def test_a_server_that_refuses(hub, coginst):
    hub.files.clear()
    done = coginst("fetch", "gpt2", endpoint=address(hub))
    assert (
        done.exit_code == 2
        and "openai-community/gpt2 (" in done.stderr
        and "404" in done.stderr
        and "Traceback" not in done.stderr
    )


def test_without_a_network_one_sentence_in_seconds(coginst, snapshot):
    """Our connection attempt fails within CONNECT_TIMEOUT. The hub's own client retries for 23 s on each request."""
    assert fetch.CONNECT_TIMEOUT <= 5
    done = coginst("fetch", "gpt2", endpoint="http://127.0.0.1:9")
    assert done.exit_code == 2 and len(done.stderr.strip().splitlines()) == 1
    assert re.sub(r"\(\[Errno.*?\)", "(ERROR)", done.stderr) == snapshot
    done = coginst("fetch", "gpt2", endpoint="https://example.org", HTTPS_PROXY="http://127.0.0.1:9")
    assert done.exit_code == 2 and re.sub(r"\(\[Errno.*?\)", "(ERROR)", done.stderr) == snapshot


def test_there_is_only_gpt2_to_fetch(coginst):
    done = coginst("fetch", "gpt3")
    assert done.exit_code == 2
    assert "'gpt3' is not" in done.stderr and "'gpt2'" in done.stderr  # click's words, which change


# ---------------------------------------------------------------- doctor


def test_the_doctor_finds_a_working_course(coginst):
    done = coginst("doctor")
    assert done.exit_code == 0, done.stdout
    for words in (
        "✓ Python",
        "✓ torch",
        "✓ GPT-2        the small GPT-2, ",
        "it comes with the course; `coginst fetch gpt2`",
        "✓ kernel",
        "answers in solutions/",
    ):
        assert words in done.stdout, done.stdout


def test_the_doctor_names_what_is_wrong_and_its_cure(tmp_path, coginst):
    done = coginst("doctor", COURSE_GPT2=str(tmp_path / "nowhere"))
    assert done.exit_code == 1 and "✗ GPT-2        cannot be used" in done.stdout and "There is no" in done.stdout


def test_versions_that_differ_from_the_lock_are_told_and_do_not_fail(monkeypatch):
    monkeypatch.setattr(
        doctor, "_pinned_versions", lambda: {"torch": "2.0.1", "numpy": doctor.metadata.version("numpy")}
    )
    torch_, numpy_ = doctor._packages()[:2]
    assert (
        not torch_.is_ok
        and not torch_.is_required
        and "the course is tested with 2.0.1" in torch_.result
        and numpy_.is_ok
    )
    monkeypatch.undo()
    assert doctor._pinned_versions()["torch"] == "2.13.0"


def test_a_kernel_whose_python_is_gone_is_told(monkeypatch):
    from jupyter_client.kernelspec import KernelSpecManager

    monkeypatch.setattr(
        KernelSpecManager, "get_kernel_spec", lambda self, name: types.SimpleNamespace(argv=["/gone/python"])
    )
    assert "/gone/python" in doctor._kernel().result and "ipykernel install" in doctor._kernel().remedy


def test_a_terminal_without_such_signs_gets_plain_ones(tmp_path):
    done = process("doctor", home=tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and "+ Python" in done.stdout, done.stdout + done.stderr


def test_a_missing_package_and_browser_are_told(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "PACKAGES", ("torch", "not-a-package"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    found = {finding.subject: finding for finding in doctor.collect_findings()}
    assert (
        found["torch"].is_ok
        and not found["not-a-package"].is_ok
        and "requirements.lock" in found["not-a-package"].remedy
    )
    assert not found["Chromium"].is_ok and not found["Chromium"].is_required


def test_a_proxy_without_a_scheme_is_understood(monkeypatch):
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", "127.0.0.1:9")
    with pytest.raises(fetch.FetchError, match="proxy"):
        fetch._require_network("https://example.org")


def test_the_doctor_tries_the_sandbox(monkeypatch):
    monkeypatch.setattr("utils.grading.judge.bubblewrap.isolation_problem", lambda: None)
    assert next(f for f in doctor.collect_findings() if f.subject == "sandbox").is_ok
    monkeypatch.setattr(
        "utils.grading.judge.bubblewrap.isolation_problem", lambda: "bubblewrap is not installed. Install it."
    )
    found = next(f for f in doctor.collect_findings() if f.subject == "sandbox")
    assert "Install it." in found.remedy and not found.is_required
