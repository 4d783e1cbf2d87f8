"""`coginst fetch gpt2`: the only thing in the course that asks the network, and only when it is told to."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import shutil
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from utils.gpt2.layer0 import get_pre_attn, get_split_l0_heads
from utils.gpt2.sources import CONFIG, REPOSITORIES, WEIGHTS, WeightsError

PATIENCE = 3.0  # seconds until a server that does not answer counts as not there


class FetchError(OSError):
    """The real GPT-2 could not be fetched; the message says why, and that nothing is lost."""


def fetch_gpt2(log: Callable[[str], None] = print) -> Path:
    """Download the real GPT-2 into the Hugging Face cache, check it, and give its folder.

    A download that was cut off goes on where it stopped. What is there already is checked, and fetched again only if it
    is damaged.

    Raises:
        FetchError: no network, no room, a server that refuses, or a file that is not what the server says it is.
    """
    from huggingface_hub import constants
    from huggingface_hub.errors import HfHubHTTPError

    repository, endpoint = REPOSITORIES[0], constants.ENDPOINT
    _require_network(endpoint, constants.HF_HUB_OFFLINE)
    log(
        f"Fetching {repository} (about 550 MB) from {urlsplit(endpoint).hostname}. If it is cut off, the same command"
        " goes on."
    )
    try:
        folder = [_download(repository, name, endpoint, log).parent for name in (CONFIG, WEIGHTS)][-1]
    except FetchError:
        raise
    except HfHubHTTPError as error:
        raise FetchError(
            f"The server did not give {repository} ({_first_line(error)}). Try again later; what has arrived is kept."
        ) from None
    except Exception as error:  # httpx's errors are not OSErrors
        raise FetchError(
            f"The download stopped ({_first_line(error)}). Run `coginst fetch gpt2` again: it goes on where it stopped."
        ) from None
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            get_pre_attn("Mary", path=folder)
            get_split_l0_heads(0, path=folder)
    except WeightsError as error:
        raise FetchError(f"The files have arrived and are not a GPT-2 that can be read. {error}") from None
    return folder


def next_weights_notice() -> str:
    """What the lessons use after a fetch."""
    chosen = os.environ.get("COURSE_GPT2")
    if chosen:
        return f"COURSE_GPT2 is set to {chosen}, which comes first: unset it, and the lessons use the real one."
    return "The lessons use it from now on; COURSE_GPT2=bundled goes back to the small one."


def _download(repository: str, name: str, endpoint: str, say: Callable[[str], None]) -> Path:
    """One file into the cache. The hub's own client starts a file anew in each process; half a gigabyte deserves
    better.

    So the content is fetched here, by the client's own streaming, into a partial file that the next run finds; the
    client then finds the finished content in its place and does the rest.
    """
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.file_download import http_get, repo_folder_name
    from huggingface_hub.utils import WeakFileLock

    told = get_hf_file_metadata(hf_hub_url(repository, name, endpoint=endpoint), endpoint=endpoint)
    if told.etag is None or told.size is None:
        raise FetchError(
            f"{urlsplit(endpoint).hostname} does not say how large {name} is, so that it cannot be checked. Nothing was"
            " fetched."
        )
    cache, folder = Path(constants.HF_HUB_CACHE), repo_folder_name(repo_id=repository, repo_type="model")
    blob, lock = cache / folder / "blobs" / told.etag, cache / ".locks" / folder / f"{told.etag}.lock"
    partial = blob.with_name(f"{told.etag}.partial")
    for place in (blob, lock):
        place.parent.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(lock):  # the client's own: a second fetch waits, and then finds it done
        if blob.exists() and _describe_mismatch(blob, told):
            say(f"The {name} that is here is damaged; it is fetched again.")
            blob.unlink()
        if not blob.exists():
            with partial.open("ab") as file:
                if file.tell() > told.size:
                    file.truncate(0)
                _require_disk_space(told.size - file.tell(), blob.parent)
                http_get(told.location, file, resume_size=file.tell(), expected_size=told.size, displayed_filename=name)
            if why := _describe_mismatch(partial, told):
                partial.unlink()
                raise FetchError(f"{name} arrived damaged: {why}. It was removed; run the command again.")
            partial.replace(blob)
    seen = try_to_load_from_cache(repository, name, revision=told.commit_hash)
    if isinstance(seen, str) and not Path(seen).is_symlink() and _describe_mismatch(Path(seen), told):
        Path(seen).unlink()  # where links cannot be made the snapshot holds a copy
    return Path(hf_hub_download(repository, name, endpoint=endpoint, cache_dir=constants.HF_HUB_CACHE))


def _require_network(endpoint: str, offline: bool = False) -> None:
    """Fail in seconds where there is no network; the hub's own client tries for much longer."""
    if offline:
        raise FetchError(
            "HF_HUB_OFFLINE is set, which forbids every download. Unset it and run `coginst fetch gpt2` again."
        )
    address = urlsplit(endpoint)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise FetchError(
            f"HF_ENDPOINT is {endpoint!r}, which is no address of a server. Unset it, or write it as https://host."
        )
    proxies = urllib.request.getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    if proxy and urllib.request.proxy_bypass(address.hostname):
        proxy = None
    target = urlsplit(proxy if "//" in proxy else f"//{proxy}") if proxy else address
    port = target.port or (443 if target.scheme == "https" else 80)
    try:
        socket.create_connection((target.hostname, port), timeout=PATIENCE).close()
    except OSError as error:
        through = " through the proxy that is set" if proxy else ""
        raise FetchError(
            f"{address.hostname} cannot be reached{through} ({error}). The course works without: it has a small GPT-2"
            " of its own. With a network, `coginst fetch gpt2` gets the real one; a folder with its files is used when"
            " COURSE_GPT2 names it."
        ) from None


def _require_disk_space(size: int, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        raise FetchError(
            f"{size / 1e6:.0f} MB are still to come, and the disk of {folder} has {free / 1e6:.0f} MB left. HF_HOME"
            " names another place."
        )


def _describe_mismatch(file: Path, told) -> str:
    """How a file's content differs from what the server said of it; empty where it does not.

    The hub names a large file by its SHA-256, and a small one as git does.
    """
    size = os.path.getsize(file)
    if size != told.size:
        return f"it has {size:,} bytes and the server said {told.size:,}"
    if re.fullmatch(r"[0-9a-f]{64}", told.etag):
        name, digest = "SHA-256", hashlib.sha256()
    elif re.fullmatch(r"[0-9a-f]{40}", told.etag):
        name, digest = "SHA-1", hashlib.sha1(b"blob %d\0" % size)
    else:
        return ""
    with file.open("rb") as content:
        while chunk := content.read(1 << 22):
            digest.update(chunk)
    got = digest.hexdigest()
    return "" if got == told.etag else f"its {name} is {got[:12]}… and the server said {told.etag[:12]}…"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
