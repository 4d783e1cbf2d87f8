"""One head's attention in layer 0 from slices of the file, beside loading GPT-2 and running it, each in a process of
its own, by turns.

With the real weights where they are, else with random ones of the same size. Twice: where the libraries and the
tokenizer are there already, which leaves the reading; and as the first thing after `import torch`, which is what a
learner waits for. Prints seconds, and the memory that each adds at its peak. Loading the model alone would not do:
weights are mapped, and read when they are used.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PROMPT = "When Mary and John went to the store, John gave a drink to"
ROUNDS = 3

BARS = {"seconds": 20, "memory": 10}

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
print(json.dumps({{"seconds": seconds, "memory": max(peak.seen, end) - start}}))
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


def weights(scratch: Path) -> tuple[Path, str]:
    """A full-size GPT-2 on disk, and what it is."""
    from utils.gpt2.sources import in_cache

    cached, _ = in_cache()
    if cached is not None:
        return cached, "the real GPT-2"
    from transformers import GPT2Config, GPT2LMHeadModel

    GPT2LMHeadModel(GPT2Config()).save_pretrained(scratch)
    return scratch, "a GPT-2 of full size with random weights"


def measure(before: str, code: str, path: Path) -> dict[str, float]:
    """Seconds and megabytes of `code` in a new Python that has run `before`."""
    command = [sys.executable, "-c", TIMED.format(before=before, code=code), str(path), PROMPT]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    return json.loads(done.stdout.splitlines()[-1])


def compare(title: str, before: str, path: Path) -> None:
    """Print what each way costs, and how many times as much the whole model does."""
    runs = [{name: measure(before, code, path) for name, code in WAYS.items()} for _ in range(ROUNDS)]
    print(f"\n{title}")
    ratio = {}
    for key in BARS:
        ratio[key] = statistics.median(
            run["the whole model"][key] / max(run["layer 0 from slices"][key], 1e-3) for run in runs
        )
    for name in WAYS:
        seconds, memory = (statistics.median(run[name][key] for run in runs) for key in BARS)
        print(f"  {name:22}{1000 * seconds:8.1f} ms{memory:9.1f} MB added")
    print(f"  {'ratio':22}{ratio['seconds']:8.0f}   {ratio['memory']:9.0f}")


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        path, what = weights(Path(scratch))
        for code in WAYS.values():
            measure("", code, path)  # the file is in the system's cache from here on, for both
        print(f"{what}; medians of {ROUNDS} processes each, one thread")
        compare(
            f"the reading (bars: {BARS['seconds']} times the seconds, {BARS['memory']} times the memory)",
            LIBRARIES,
            path,
        )
        compare(f"the first answer after `import torch` (bar: {BARS['memory']} times the memory)", "", path)


if __name__ == "__main__":
    main()
