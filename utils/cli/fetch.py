"""`coginst fetch gpt2` downloads the real GPT-2. No other command for learners uses the network."""

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

CONNECT_TIMEOUT = 3.0  # seconds


class FetchError(OSError):
    """The real GPT-2 could not be fetched. The message gives the reason, and says that nothing is lost."""


def fetch_gpt2(log: Callable[[str], None] = print) -> Path:
    """Download the real GPT-2 into the Hugging Face cache, verify it, and return its folder.

    An interrupted download continues where it stopped. Existing files are verified; only damaged files are fetched
    again.

    Raises:
        FetchError: there is no network or not enough disk space, the server refuses, or a file is damaged.
    """
    from huggingface_hub import constants
    from huggingface_hub.errors import HfHubHTTPError

    repository, endpoint = REPOSITORIES[0], constants.ENDPOINT
    _require_network(endpoint, constants.HF_HUB_OFFLINE)
    log(
        f"Fetching {repository} (about 550 MB) from {urlsplit(endpoint).hostname}. If it is interrupted, run the same"
        " command again: it continues."
    )
    try:
        folder = [_download(repository, name, endpoint, log).parent for name in (CONFIG, WEIGHTS)][-1]
    except FetchError:
        raise
    except HfHubHTTPError as error:
        raise FetchError(
            f"The server did not deliver {repository} ({_first_line(error)}). Try again later; finished parts are kept."
        ) from None
    except Exception as error:  # httpx's errors are not OSErrors
        raise FetchError(
            f"The download stopped ({_first_line(error)}). Run `coginst fetch gpt2` again: it continues where it"
            " stopped."
        ) from None
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            get_pre_attn("Mary", path=folder)
            get_split_l0_heads(0, path=folder)
    except WeightsError as error:
        raise FetchError(f"The files were downloaded, but they are not a readable GPT-2. {error}") from None
    return folder


def next_weights_notice() -> str:
    """Return a sentence that says which weights the lessons use after a fetch."""
    chosen = os.environ.get("COURSE_GPT2")
    if chosen:
        return (
            f"COURSE_GPT2 is set to {chosen} and takes precedence: unset it if the lessons should use the real GPT-2."
        )
    return "The lessons use it from now on. COURSE_GPT2=bundled selects the small one again."


def _download(repository: str, name: str, endpoint: str, log: Callable[[str], None]) -> Path:
    """Download one file into the cache, and continue an interrupted download.

    The hub's client cannot continue a download that an earlier process started. This function therefore streams the
    content into a partial file, and the next run appends the rest. The client then finds the complete content in its
    cache.
    """
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.file_download import http_get, repo_folder_name
    from huggingface_hub.utils import WeakFileLock

    metadata = get_hf_file_metadata(hf_hub_url(repository, name, endpoint=endpoint), endpoint=endpoint)
    if metadata.etag is None or metadata.size is None:
        raise FetchError(
            f"{urlsplit(endpoint).hostname} does not report the size of {name}, so the file cannot be verified. Nothing"
            " was fetched."
        )
    cache, folder = Path(constants.HF_HUB_CACHE), repo_folder_name(repo_id=repository, repo_type="model")
    blob, lock = cache / folder / "blobs" / metadata.etag, cache / ".locks" / folder / f"{metadata.etag}.lock"
    partial = blob.with_name(f"{metadata.etag}.partial")
    for place in (blob, lock):
        place.parent.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(lock):  # the client's own lock: a second fetch waits, and then finds the file
        if blob.exists() and _describe_mismatch(blob, metadata):
            log(f"The existing {name} is damaged; it is fetched again.")
            blob.unlink()
        if not blob.exists():
            with partial.open("ab") as file:
                if file.tell() > metadata.size:
                    file.truncate(0)
                _require_disk_space(metadata.size - file.tell(), blob.parent)
                http_get(
                    metadata.location,
                    file,
                    resume_size=file.tell(),
                    expected_size=metadata.size,
                    displayed_filename=name,
                )
            if why := _describe_mismatch(partial, metadata):
                partial.unlink()
                raise FetchError(f"{name} arrived damaged: {why}. It was removed; run the command again.")
            partial.replace(blob)
    seen = try_to_load_from_cache(repository, name, revision=metadata.commit_hash)
    if isinstance(seen, str) and not Path(seen).is_symlink() and _describe_mismatch(Path(seen), metadata):
        Path(seen).unlink()  # on systems without symbolic links, the snapshot contains a copy
    return Path(hf_hub_download(repository, name, endpoint=endpoint, cache_dir=constants.HF_HUB_CACHE))


def _require_network(endpoint: str, offline: bool = False) -> None:
    """Raise an error within seconds if there is no network. The hub's own client retries for much longer."""
    if offline:
        raise FetchError(
            "HF_HUB_OFFLINE is set, so downloads are forbidden. Unset it and run `coginst fetch gpt2` again."
        )
    address = urlsplit(endpoint)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise FetchError(
            f"HF_ENDPOINT is {endpoint!r}, which is not a server address. Unset it, or write it as https://host."
        )
    proxies = urllib.request.getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    if proxy and urllib.request.proxy_bypass(address.hostname):
        proxy = None
    target = urlsplit(proxy if "//" in proxy else f"//{proxy}") if proxy else address
    port = target.port or (443 if target.scheme == "https" else 80)
    try:
        socket.create_connection((target.hostname, port), timeout=CONNECT_TIMEOUT).close()
    except OSError as error:
        through = " through the configured proxy" if proxy else ""
        raise FetchError(
            f"{address.hostname} cannot be reached{through} ({error}). The course also works offline, with its own"
            " small GPT-2. When there is a network, `coginst fetch gpt2` gets the real one. If you have its files in a"
            " folder, set COURSE_GPT2 to that folder."
        ) from None


def _require_disk_space(size: int, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        raise FetchError(
            f"The download needs {size / 1e6:.0f} MB more, and the disk of {folder} has {free / 1e6:.0f} MB left. Set"
            " HF_HOME to another folder."
        )


def _describe_mismatch(file: Path, metadata) -> str:
    """Describe how a file differs from the server's metadata. Return "" if it does not differ.

    The hub identifies a large file by its SHA-256 and a small file by its git blob id.
    """
    size = os.path.getsize(file)
    if size != metadata.size:
        return f"it has {size:,} bytes, but the server announced {metadata.size:,}"
    if re.fullmatch(r"[0-9a-f]{64}", metadata.etag):
        name, digest = "SHA-256", hashlib.sha256()
    elif re.fullmatch(r"[0-9a-f]{40}", metadata.etag):
        name, digest = "SHA-1", hashlib.sha1(b"blob %d\0" % size)
    else:
        return ""
    with file.open("rb") as content:
        while chunk := content.read(1 << 22):
            digest.update(chunk)
    got = digest.hexdigest()
    return "" if got == metadata.etag else f"its {name} is {got[:12]}…, but the server announced {metadata.etag[:12]}…"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
