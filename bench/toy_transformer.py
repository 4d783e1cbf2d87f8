"""Depth against accuracy: the toy transformer of lesson 08 with 1 to 4 layers, with positions and without.

Beside it one wide layer, and how two layers without positions fare with words in which no letter stands twice, and with
the others. Each is trained as the lesson trains its own (1000 steps of 128 texts, seed 0) and asked for 1000 held-out
texts. With `--write` the table also becomes utils/assets/cogmodel/depth.json, which the lesson draws.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ["COURSE_PROGRESS"] = "off"

import torch
from torch import nn

from utils.models import toy_transformer as toy

LAYERS, STEPS, BATCH, SEED, HELD_OUT = (1, 2, 3, 4), 1000, 128, 0, 12345


def trained(layers: int, positions: bool = True, steps: int = STEPS, width: int = 64) -> tuple[nn.Module, float, float]:
    """The model, the share of held-out texts that are right to the last letter, and the seconds that the training
    took."""
    torch.manual_seed(SEED)
    model = toy.course_model()(toy.VOCAB_SIZE, width, layers)
    if not positions:
        model.pos_encoder = nn.Identity()
    history = toy.train_cogmodel(model, steps, BATCH, seed=SEED, progress=False)
    return (
        model,
        toy.exact_match(model, *toy.draw_batch(1000, torch.Generator().manual_seed(HELD_OUT))),
        history.seconds,
    )


def by_repeats(model: nn.Module) -> dict[str, float]:
    """The share that is right of words whose letters all differ, and of words in which one stands twice."""
    words = toy.random_words(2000, torch.Generator().manual_seed(HELD_OUT))
    groups = {
        "all letters differ": [w for w in words if len(set(w)) == len(w)],
        "a letter twice": [w for w in words if len(set(w)) < len(w)],
    }
    return {
        name: round(toy.exact_match(model, *toy.tokens_of([f"{w} echo" for w in some])), 3)
        for name, some in groups.items()
    }


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--write", action="store_true", help="write utils/assets/cogmodel/depth.json as well")
    ask.add_argument("--steps", type=int, default=STEPS)
    given = ask.parse_args()
    study = {
        "layers": list(LAYERS),
        "with positions": [],
        "without": [],
        "steps": given.steps,
        "batch": BATCH,
        "seed": SEED,
    }
    began = time.perf_counter()
    print(
        f"{'layers':>6}{'with positions':>18}{'without':>18}   share of 1000 held-out texts that are right, and seconds"
        " of training"
    )
    for layers in LAYERS:
        row = f"{layers:>6}"
        for name in ("with positions", "without"):
            model, share, seconds = trained(layers, name == "with positions", given.steps)
            if layers == 2 and name == "without":
                study["two layers without"] = by_repeats(model)
            study[name].append(round(share, 3))
            row += f"{f'{share:.3f} ({seconds:.0f} s)':>18}"
        print(row, flush=True)
    _, share, seconds = trained(1, steps=given.steps, width=256)
    study["one layer of 256"] = round(share, 3)
    print(
        f"one layer, 256 wide: {share:.3f} ({seconds:.0f} s)\ntwo layers without positions:"
        f" {study['two layers without']}"
    )
    study["minutes"] = round((time.perf_counter() - began) / 60, 1)
    print(f"all: {study['minutes']} minutes, {torch.get_num_threads()} thread(s)")
    if given.write:
        (toy.ASSET / "depth.json").write_text(json.dumps(study, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
