"""Compare depth with accuracy: the toy transformer of lesson 08 with 1 to 4 layers, with and without positions.

One wide layer is also measured. Two layers without positions, trained from three seeds, are measured on words in which
no letter occurs twice, on other words, and after a wrong letter. Each model is trained on 1000 steps of 128 texts (seed
0, unless stated otherwise) and tested on 1000 held-out texts. With `--write`, the table is also written to
utils/assets/cogmodel/depth.json, which the lesson draws.
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
STARTS = (0, 1, 2)  # the seeds of two layers without positions


def train_and_evaluate(
    layers: int, positions: bool = True, steps: int = STEPS, width: int = 64, seed: int = SEED
) -> tuple[nn.Module, float, float]:
    """Return the model, the fraction of held-out texts that are correct to the last letter, and the training time in
    seconds.
    """
    torch.manual_seed(seed)
    model = toy.lesson_model_class()(toy.VOCAB_SIZE, width, layers)
    if not positions:
        model.pos_encoder = nn.Identity()
    history = toy.train_cogmodel(model, steps, BATCH, seed=seed, progress=False)
    return (
        model,
        toy.exact_match(model, *toy.draw_batch(1000, torch.Generator().manual_seed(HELD_OUT))),
        history.seconds,
    )


def train_on_one_length(length: int, seed: int, steps: int = STEPS, size: int = 64) -> float:
    """Train one layer on words of one length; return the share of 1000 held-out texts of this length that are right."""

    def draw(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        words = toy.random_words(n, torch.Generator().manual_seed(seed), length)
        return toy.tokens_of(f"{word} {command}" for word, command in zip(words, n * ["echo", "upper"]))

    torch.manual_seed(seed)
    model, answer_loss = toy.lesson_model_class()(toy.VOCAB_SIZE, 64, 1), toy.lesson_loss_function()
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=5e-3, total_steps=steps)
    for batch in zip(*(part.split(size) for part in draw(steps * size, seed))):
        optimiser.zero_grad()
        answer_loss(model(batch[0]), *batch).backward()
        optimiser.step()
        schedule.step()
    return round(toy.exact_match(model, *draw(1000, HELD_OUT)), 3)


def write_one_length(study: dict) -> None:
    study["one layer, words of 8 letters"] = [train_on_one_length(8, seed) for seed in STARTS]
    print("one layer, words of 8 letters:", study["one layer, words of 8 letters"])


def copying_statistics(model: nn.Module) -> dict[str, float]:
    """Return the fraction of correct words without and with repeated letters, and the output after a wrong letter."""
    words = toy.random_words(2000, torch.Generator().manual_seed(HELD_OUT))
    groups = {
        "right, all letters differ": [w for w in words if len(set(w)) == len(w)],
        "right, a letter twice": [w for w in words if len(set(w)) < len(w)],
    }
    shares = {
        name: toy.exact_match(model, *toy.tokens_of([f"{w} echo" for w in some])) for name, some in groups.items()
    }
    shares |= {f"after a wrong one: {way}": share for way, share in toy.after_a_wrong_letter(model).items()}
    return {name: round(share, 3) for name, share in shares.items()}


def last_layer_weights(model: nn.Module) -> list:
    """Return the last layer's weights while the model answers `minecraft echo`, with the labels of rows and columns."""
    weights, rows, columns = toy.copying_weights(model, "minecraft echo")
    return [[[round(w, 3) for w in row] for row in weights[-1].tolist()], rows, columns]


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--write", action="store_true", help="write utils/assets/cogmodel/depth.json as well")
    ask.add_argument("--steps", type=int, default=STEPS)
    ask.add_argument("--one-length", action="store_true", help="measure only one layer on words of one length")
    given = ask.parse_args()
    if given.one_length:
        study = toy.depth_study()
        write_one_length(study)
        (toy.ASSET / "depth.json").write_text(json.dumps(study, indent=1) + "\n", encoding="utf-8")
        return
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
            model, share, seconds = train_and_evaluate(layers, name == "with positions", given.steps)
            if layers == 2 and name == "without":
                study["layer 1 without"] = last_layer_weights(model)
                others = [train_and_evaluate(2, False, given.steps, seed=start)[0] for start in STARTS[1:]]
                found = [copying_statistics(each) for each in (model, *others)]
                study["two layers without"] = {key: [each[key] for each in found] for key in found[0]}
            study[name].append(round(share, 3))
            row += f"{f'{share:.3f} ({seconds:.0f} s)':>18}"
        print(row, flush=True)
    _, share, seconds = train_and_evaluate(1, steps=given.steps, width=256)
    study["one layer of 256"] = round(share, 3)
    print(
        f"one layer, 256 wide: {share:.3f} ({seconds:.0f} s)\ntwo layers without positions:"
        f" {study['two layers without']}"
    )
    write_one_length(study)
    study["minutes"] = round((time.perf_counter() - began) / 60, 1)
    print(f"all: {study['minutes']} minutes, {torch.get_num_threads()} thread(s)")
    if given.write:
        (toy.ASSET / "depth.json").write_text(json.dumps(study, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
