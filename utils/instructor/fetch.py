"""`coginst fetch gpt2`: the only thing in the course that asks the network, and only when it is told to."""

from __future__ import annotations

import hashlib
import re
import socket
import urllib.request
from pathlib import Path
from typing import Callable
from urllib.parse import urlsplit

from utils.gpt2.layer0 import get_pre_attn
from utils.gpt2.sources import CONFIG, REPOSITORIES, WEIGHTS, WeightsError

PATIENCE = 3.0  # seconds until a server that does not answer counts as not there


class FetchError(OSError):
    """The real GPT-2 could not be fetched; the message says why, and that nothing is lost."""


def fetch(say: Callable[[str], None] = print) -> Path:
    """Download the real GPT-2 into the Hugging Face cache, check it, and give its folder.

    A download that was cut off goes on where it stopped. What is there already is not fetched again.

    Raises:
        FetchError: no network, a server that refuses, or a file that is not what the server says it is.
    """
    from huggingface_hub import constants
    from huggingface_hub.errors import HfHubHTTPError

    repository, endpoint = REPOSITORIES[0], constants.ENDPOINT
    _reach(endpoint)
    say(f"Fetching {repository} (about 550 MB) from {urlsplit(endpoint).hostname}. If it is cut off, the same command goes on.")
    try:
        folder = [_download(repository, name, endpoint).parent for name in (CONFIG, WEIGHTS)][0]
    except FetchError:
        raise
    except HfHubHTTPError as error:
        raise FetchError(f"The server did not give {repository} ({_first_line(error)}). Try again later; what has arrived is kept.") from None
    except Exception as error:  # httpx's errors are not OSErrors
        raise FetchError(f"The download stopped ({_first_line(error)}). Run `coginst fetch gpt2` again: it goes on where it stopped.") from None
    try:
        get_pre_attn("Mary", path=folder)
    except WeightsError as error:
        raise FetchError(f"The files have arrived and are not a GPT-2 that can be read. {error}") from None
    return folder


def _download(repository: str, name: str, endpoint: str) -> Path:
    """One file into the cache. The hub's own client starts a file anew in each process; half a gigabyte deserves better.

    So the content is fetched here, by the client's own streaming, into a partial file that the next run finds; the client
    then finds the finished content in its place and does the rest.
    """
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_download, hf_hub_url
    from huggingface_hub.file_download import http_get, repo_folder_name

    told = get_hf_file_metadata(hf_hub_url(repository, name, endpoint=endpoint), endpoint=endpoint)
    if told.etag is None or told.size is None:
        raise FetchError(f"{urlsplit(endpoint).hostname} does not say how large {name} is, so that it cannot be checked. Nothing was fetched.")
    blob = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repository, repo_type="model") / "blobs" / told.etag
    if not blob.exists():
        partial = blob.with_name(f"{told.etag}.partial")
        partial.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("ab") as file:
            if file.tell() > told.size:
                file.truncate(0)
            http_get(told.location, file, resume_size=file.tell(), expected_size=told.size, displayed_filename=name)
        _verify(partial, name, told.etag)
        partial.replace(blob)
    return Path(hf_hub_download(repository, name, endpoint=endpoint, cache_dir=constants.HF_HUB_CACHE))


def _reach(endpoint: str) -> None:
    """Fail in seconds where there is no network; the hub's own client tries for much longer."""
    address = urlsplit(endpoint)
    proxies = urllib.request.getproxies()
    proxy = proxies.get(address.scheme) if not urllib.request.proxy_bypass(address.hostname or "") else None
    target = urlsplit(proxy if not proxy or "//" in proxy else f"//{proxy}") if proxy else address
    port = target.port or (443 if target.scheme == "https" else 80)
    try:
        socket.create_connection((target.hostname, port), timeout=PATIENCE).close()
    except OSError as error:
        through = " through the proxy that is set" if proxy else ""
        raise FetchError(
            f"{address.hostname} cannot be reached{through} ({error}). The course works without: it has a small GPT-2 of its own. "
            "With a network, `coginst fetch gpt2` gets the real one; a folder with its files is used when COURSE_GPT2 names it."
        ) from None


def _verify(partial: Path, name: str, etag: str) -> None:
    """Large files are named by their SHA-256; content that differs is removed, so that the next run starts it anew."""
    if not re.fullmatch(r"[0-9a-f]{64}", etag):
        return
    with partial.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else hashlib.sha256(file.read()).hexdigest()
    if digest != etag:
        partial.unlink()
        raise FetchError(f"{name} arrived damaged: its SHA-256 is {digest[:12]}… and the server said {etag[:12]}…. It was removed; run the command again.")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
