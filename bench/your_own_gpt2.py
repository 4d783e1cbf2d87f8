"""Generate text with the code of lesson 12 and the small GPT-2 of the course, with and without a cache."""

import time

import torch

from bench.measurement import Row
from solutions.your_own_gpt2 import GPT, generate_cached, generate_plain, gpt2_state
from utils.models import your_own_gpt2

ROUNDS, BEGINNING, LENGTHS = 3, 8, (64, 128)


def time_generation(write, *arguments) -> float:
    began = time.process_time()
    write(*arguments)
    return time.process_time() - began


@torch.no_grad()
def rows() -> list[Row]:
    torch.set_num_threads(1)
    tensors, config = your_own_gpt2.checkpoint()
    model = your_own_gpt2.load(GPT(config), gpt2_state(tensors, config))
    prompt = torch.arange(BEGINNING)[None] + 1000
    assert torch.equal(generate_cached(model, prompt, 8), generate_plain(model, prompt, 8))
    results = []
    for length in LENGTHS:
        arguments = (model, prompt, length - BEGINNING)
        rounds = [
            [time_generation(write, *arguments) for write in (generate_cached, generate_plain)] for _ in range(ROUNDS)
        ]
        cached, plain = zip(*rounds)
        what = f"generating up to {length} tokens with a cache"
        results.append(Row(what, cached, "s", "no cache", plain, headline=length == LENGTHS[-1]))
    return results
