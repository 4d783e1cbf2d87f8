"""Lesson 12 writes on from 8 tokens, with the small GPT-2 that comes along: with keys and values kept
(`generate_cached`), beside computed anew for each token (`generate_plain`), by turns, in seconds of CPU on one
thread."""

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
    found = []
    for length in LENGTHS:
        told = (model, prompt, length - BEGINNING)
        turns = [[time_generation(write, *told) for write in (generate_cached, generate_plain)] for _ in range(ROUNDS)]
        kept, anew = zip(*turns)
        what = f"writing on to {length} tokens, keys and values kept"
        found.append(Row(what, kept, "s of CPU", "computed anew", anew, headline=length == LENGTHS[-1]))
    return found
