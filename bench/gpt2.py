"""Compute the attention of one head in layer 0 of GPT-2. The course reads only the necessary parts of the weights file.
The time for "reading" starts after the libraries and the tokenizer have been loaded; the time for "first answer" starts
after `import torch`. The memory is the peak value. Without the real GPT-2, the benchmark uses random weights of the
same shapes.

Loading the model without running it would not be a fair comparison, because weights are memory-mapped and read when
they are used.
"""

import json
import tempfile
from pathlib import Path

from bench.measurement import Row, last_printed_line

PROMPT = "When Mary and John went to the store, John gave a drink to"
ROUNDS = 3

LIBRARIES = """
from transformers import GPT2LMHeadModel
from utils import gpt2
from utils.gpt2.tokenizer import backend
gpt2.load_tokenizer()(prompt), backend().encode(prompt)
"""
TIMED = """
import json, sys, threading, time
import psutil, torch

class Peak(threading.Thread):
    seen, go = 0, True

    def run(self):
        while self.go:
            self.seen = max(self.seen, resident())
            time.sleep(0.0005)

path, prompt = sys.argv[1:]
resident = lambda process=psutil.Process(): process.memory_info().rss / 1e6
torch.set_num_threads(1)
torch.nn.functional.layer_norm(torch.randn(8, 64), (64,)) @ torch.randn(64, 64)
{before}
start, peak = resident(), Peak(daemon=True)
peak.start()
began = time.perf_counter()
{code}
seconds, end = time.perf_counter() - began, resident()
peak.go = False
peak.join()
print(json.dumps({{"time": seconds, "memory": max(peak.seen, end) - start}}))
"""
WAYS = {
    "layer 0 from slices": (
        """
from utils import gpt2
tokens, x = gpt2.get_pre_attn(prompt, path)
W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(0, bias=True, path=path)
seen = torch.ones(len(tokens), len(tokens)).tril().bool()
pattern = ((x @ W_Q + b_Q) @ (x @ W_K + b_K).T / W_Q.shape[1] ** 0.5).masked_fill(~seen, -torch.inf).softmax(-1)
"""
    ),
    "the whole model": (
        """
from transformers import GPT2LMHeadModel
from utils import gpt2
model = GPT2LMHeadModel.from_pretrained(path, local_files_only=True, dtype=torch.float32, attn_implementation="eager")
with torch.no_grad():
    tokens = gpt2.load_tokenizer()(prompt, return_tensors="pt").input_ids
    pattern = model(tokens, output_attentions=True).attentions[0][0, 0]
"""
    ),
}


def find_or_make_gpt2(scratch: Path) -> tuple[Path, str]:
    """Return the folder of a full-size GPT-2 on disk, and its description."""
    from utils.gpt2.sources import find_in_cache

    cached, _ = find_in_cache()
    if cached is not None:
        return cached, "the real GPT-2"
    from transformers import GPT2Config, GPT2LMHeadModel

    GPT2LMHeadModel(GPT2Config()).save_pretrained(scratch)
    return scratch, "a full-size GPT-2"


def measure_code(before: str, code: str, path: Path) -> dict[str, float]:
    """Measure the seconds and megabytes of `code` in a new Python that has already run `before`."""
    return json.loads(last_printed_line("-c", TIMED.format(before=before, code=code), path, PROMPT))


def compare_ways(what: str, before: str, path: Path, bars: tuple[str, str]) -> list[Row]:
    """Measure both ways in turn, in seconds and in memory."""
    turns = [[measure_code(before, code, path) for code in WAYS.values()] for _ in range(ROUNDS)]
    found = []
    for key, label, unit, bar in zip(("time", "memory"), ("wall time", "memory"), ("s", "MB"), bars):
        ours, theirs = zip(*([way[key] for way in turn] for turn in turns))
        headline = key == "time" and bool(before)
        found.append(Row(f"{what}, {label}", ours, unit, "the whole GPT-2", theirs, bar=bar, headline=headline))
    return found


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as scratch:
        path, which = find_or_make_gpt2(Path(scratch))
        for code in WAYS.values():
            measure_code("", code, path)  # from here on, the file is in the system's cache for both ways
        head = f"one head of {which}"
        return [
            *compare_ways(f"{head}: reading", LIBRARIES, path, ("1/20", "1/10")),
            *compare_ways(f"{head}: first answer", "", path, ("", "1/10")),
        ]
