"""One head's attention in layer 0 from slices of the file, beside loading GPT-2 and running it, each in a process of its own.

With the real weights where they are, else with random ones of the same size. Prints seconds, and the memory that each adds at its peak
to what torch, the tokenizer and a first small product take. Loading alone would not do: weights are mapped, and read when they are used.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PROMPT = "When Mary and John went to the store, John gave a drink to"
RUNS = 5

START = """
import json, resource, sys, threading, time
import torch
from utils import gpt2
gpt2.load_tokenizer()
from transformers import GPT2LMHeadModel
torch.set_num_threads(1)

def resident():
    for line in open("/proc/self/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024

class Peak(threading.Thread):
    seen, go = 0.0, True

    def run(self):
        while self.go:
            self.seen = max(self.seen, resident())
            time.sleep(0.0005)

path, prompt = sys.argv[1:]
gpt2.load_tokenizer()(prompt)
torch.nn.functional.layer_norm(torch.randn(8, 64), (64,)) @ torch.randn(64, 64)
before, peak = resident(), Peak(daemon=True)
peak.start()
began = time.perf_counter()
"""
END = """
seconds = time.perf_counter() - began
after = resident()
peak.go = False
peak.join()
print(json.dumps({"seconds": seconds, "memory": max(peak.seen, after) - before}))
"""
WAYS = {
    "layer 0 from slices": """
tokens, x = gpt2.get_pre_attn(prompt, path)
W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(0, bias=True, path=path)
seen = torch.ones(len(tokens), len(tokens)).tril().bool()
pattern = ((x @ W_Q + b_Q) @ (x @ W_K + b_K).T / W_Q.shape[1] ** 0.5).masked_fill(~seen, -torch.inf).softmax(-1)
""",
    "the whole model": """
model = GPT2LMHeadModel.from_pretrained(path, local_files_only=True, dtype=torch.float32, attn_implementation="eager")
with torch.no_grad():
    pattern = model(gpt2.load_tokenizer()(prompt, return_tensors="pt").input_ids, output_attentions=True).attentions[0][0, 0]
""",
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


def measure(code: str, path: Path) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", START + code + END, str(path), PROMPT], cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        path, what = weights(Path(scratch))
        for code in WAYS.values():
            measure(code, path)  # the file is in the system's cache from here on, for both
        runs = {name: [measure(code, path) for _ in range(RUNS)] for name, code in WAYS.items()}
    middle = {name: {key: sorted(run[key] for run in of)[RUNS // 2] for key in of[0]} for name, of in runs.items()}
    print(f"{what}, {RUNS} processes each, median")
    for name, of in middle.items():
        print(f"{name:22} {1000 * of['seconds']:8.1f} ms {of['memory']:8.1f} MB added")
    slow, fast = middle["the whole model"], middle["layer 0 from slices"]
    print(f"ratio: {slow['seconds'] / fast['seconds']:.0f} times the time (bar 20), {slow['memory'] / max(fast['memory'], 1):.0f} times the memory (bar 10)")


if __name__ == "__main__":
    main()
