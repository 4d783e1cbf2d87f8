"""Move one control in each explorer 200 times, and choose a head of `show.attention` 200 times. The result is the time
that the page needs for one redraw. For comparison, the Python kernel draws the same picture.

The time is that of the page's main thread.

Predictions, quizzes and `explore.my_sentence` are not measured, because they do not redraw. The training display has no
static figure, so it is not compared.

    $ bash .ci/install-browser    # once, if Chromium is not installed
"""

import itertools
import math
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from playwright.sync_api import Page

from bench.measurement import Row
from solutions import abc_sorter, toy_transformer
from solutions.tokenization import to_str_tokens
from solutions.where_the_answer_comes_from import patch_stream
from solutions.your_own_gpt2 import GPT, gpt2_state
from tests.explore.widget_page import WidgetPage, open_chromium_window, open_tab
from utils import explore, show
from utils.explore.query_path import EXAMPLE
from utils.gpt2 import load_gpt2, load_tokenizer
from utils.models import abc_sorter as sorting
from utils.models import toy_transformer as toy
from utils.models import your_own_gpt2
from utils.show.widget import make_widget
from utils.training import training_display

MOVES, DRAWN = 200, 7  # moves in the page; pictures in the kernel
TOKENS = EXAMPLE["tokens"]
SCORES = [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865]
CLEAN = "When Mary and John went to the store, John gave a drink to"
TWIN = "When Mary and John went to the store, Mary gave a drink to"
TEXT = "The strawberry has three r's. The strawbery has two."
# A move is an event followed by a forced layout, with one frame between two moves. There are three kinds of moves: of a
# control, of the pointer over a table, and a message from the kernel about a training.
_READY = """([selector, values]) => {
    const all = [...document.querySelectorAll(`.coginst ${selector}`)], control = all[0], losses = [], lines = [];
    const [low, high, step] = ['min', 'max', 'step'].map(name => Number(control[name]));
    const places = Math.round((high - low) / step) + 1;
    const move = {
        input: n => control.dispatchEvent(new Event('input', {bubbles: true})),
        point: n => all[n % all.length].dispatchEvent(new PointerEvent('pointerenter', {pointerType: 'mouse'})),
        tell: n => window.tell({done: n, loss: 4 / n, losses, lines, running: true, left: 1}),
    }[selector.startsWith('table') ? 'point' : selector === 'svg' ? 'tell' : 'input'];
    window.moved = async n => {
        control.value = values ? values[n % values.length] : low + (n % places) * step;
        losses.push([n, 4 / n]);
        if (n % 15 === 0) lines.push([n, ' MINECRAFT.']);
        move(n);
        for (const part of document.querySelectorAll('.coginst, .coginst svg')) part.getBoundingClientRect();
        await new Promise(requestAnimationFrame);
    };
}"""

_HEADS_READY = """() => {
    const heads = [...document.querySelectorAll('[role=radio]')];
    const right = new KeyboardEvent('keydown', {key: 'ArrowRight'});
    window.moved = async n => {
        heads[n % heads.length].dispatchEvent(right);
        document.body.getBoundingClientRect();
        await new Promise(requestAnimationFrame);
    };
}"""


class ExplorerCase(NamedTuple):
    """An explorer to measure: how to create it, the control that moves, the texts that are typed, and its static
    figure.
    """

    make: Callable[[], Any]
    control: str
    texts: list[str] | None
    draw_static: Callable[[], Any] | None


def text_prefixes(text: str) -> list[str]:
    """Return the contents of a text box while a text is typed."""
    return [text[: n + 1] for n in range(len(text))]


def position_dot_products() -> list[float]:
    return [sum(math.cos(d * 10000 ** (-i / 16)) for i in range(16)) / 16 for d in range(60)]


def explorer_cases() -> dict[str, ExplorerCase]:
    range_ = "input[type=range]"
    text = "input[type=text]"
    weights = torch.tensor(SCORES).softmax(0).tolist()
    table = torch.randn(6, 6, generator=torch.Generator().manual_seed(0))
    vector = torch.randn(8, generator=torch.Generator().manual_seed(0))
    tokenizer = load_tokenizer()
    model, _ = load_gpt2()
    prompt = "When Mary and John went to the"
    logits = model(torch.tensor([tokenizer.encode(prompt)])).logits[0, -1].detach()
    torch.manual_seed(1)
    sorter = sorting.Sorter(abc_sorter.DeepQKVAttention(6, 2, 7))
    writer = toy.load_cogmodel(build=toy_transformer.CogModel)[0]
    characters = toy.CharTokenizer()
    tensors, config = your_own_gpt2.checkpoint()
    own = your_own_gpt2.load(GPT(config), gpt2_state(tensors, config)).requires_grad_(False)
    effects = torch.randn(3, 14, generator=torch.Generator().manual_seed(0)) / 3
    start = {"steps": MOVES, "title": "training", "first": 0}
    start |= {"prompt": "minecraft upper", "right": "MINECRAFT.", "lines": 15}
    begun = {"done": 0, "loss": None, "losses": [], "lines": [], "running": True, "left": 1}
    return {
        "dot_product": ExplorerCase(
            explore.dot_product, range_, None,
            lambda: show.vectors({"a": [1.5, 1.0], "b": [0.2, 1.0]}, angle=("a", "b"))
        ),
        "softmax": ExplorerCase(
            lambda: explore.softmax(SCORES, TOKENS), range_, None,
            lambda: show.bars({"scores": SCORES, "weights": weights}, TOKENS),
        ),
        "scaling": ExplorerCase(explore.scaling, range_, None, lambda: show.bars({"weights": weights}, TOKENS)),
        "layer_norm": ExplorerCase(
            explore.layer_norm, range_, None,
            lambda: show.bars(
                {"before": vector, "after": torch.nn.LayerNorm(8)(vector).detach()}, list("abcdefgh"), same_scale=True
            ),
        ),
        "positions": ExplorerCase(
            explore.positions, range_, None, lambda: show.lines(range(60), {"dot product": position_dot_products()})
        ),
        "causal": ExplorerCase(
            lambda: explore.causal(table, TOKENS), range_, None, lambda: show.causal(table, TOKENS, 2)
        ),
        "query": ExplorerCase(
            explore.query, '[aria-label="query, across"]', None,
            lambda: show.steps(
                EXAMPLE["inputs"], TOKENS, "journey",
                *(torch.tensor(EXAMPLE[name]) for name in ("W_query", "W_key", "W_value")),
            ),
        ),
        "volume": ExplorerCase(
            explore.volume, range_, None, lambda: show.volume([1.0, 0, 0], [0.6, 0.5, 0.8], [0.3, 0.9, 0])
        ),
        "regression": ExplorerCase(
            explore.regression, range_, None,
            lambda: show.valley([0.1 * n for n in range(1, 7)], [4 / n for n in range(1, 7)], {"a pair": [(0.3, 4.0)]}),
        ),
        "tokens": ExplorerCase(
            lambda: explore.tokens(tokenizer, TEXT), "textarea", text_prefixes(4 * TEXT),
            lambda: show.tokens(to_str_tokens(4 * TEXT, tokenizer), tokenizer.encode(4 * TEXT)),
        ),
        "next_token": ExplorerCase(
            lambda: explore.next_token(model, tokenizer, prompt), range_, None,
            lambda: show.next_tokens(logits.softmax(-1), tokenizer),
        ),
        "sorter": ExplorerCase(
            lambda: explore.sorter(sorter, "bca"), text, ["bca", "cab", "abb", "acc"],
            lambda: show.trace(sorting.trace(sorter, "bca")),
        ),
        "writer": ExplorerCase(
            lambda: explore.writer(writer, characters), text, text_prefixes("strawberry upper"),
            lambda: toy_transformer.generate_text(writer, characters, "strawberry upper"),
        ),
        "training": ExplorerCase(
            lambda: make_widget(training_display.__file__, "Training.", start, begun), "svg", None, None
        ),
        "patching": ExplorerCase(
            lambda: explore.patching(own, patch_stream, CLEAN, TWIN), "table button", None,
            lambda: show.effects(effects, list("012"), [str(n) for n in range(14)]),
        ),
    }  # fmt: skip


def quantiles(times: list[float]) -> tuple[float, float]:
    """Return the median and the 95th percentile."""
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


def time_static_figure(draw: Callable[[], Any]) -> float:
    """Return the milliseconds that the kernel needs for one picture: the median, after one warm-up."""
    taken = []
    for _ in range(DRAWN + 1):
        began = time.process_time()
        picture = draw()
        if hasattr(picture, "html"):
            picture.html()
        taken.append(1000 * (time.process_time() - began))
    return statistics.median(taken[1:])


def time_redraws(window: Any, kind: ExplorerCase) -> list[float]:
    """Return the milliseconds of each move."""
    shown = WidgetPage(window, kind.make())
    shown.page.evaluate(_READY, [kind.control, kind.texts])
    times = time_moves(shown.page)
    shown.close()
    return times


def time_heads(window: Any) -> list[float]:
    """Return the milliseconds of each choice among twelve heads over fourteen tokens."""
    patterns = torch.randn(12, 14, 14, generator=torch.Generator().manual_seed(0)).softmax(-1)
    page = open_tab(window)
    page.set_content(show.attention([f"t{n}" for n in range(14)], patterns)._repr_mimebundle_()["text/html"])
    page.wait_for_selector("[role=radio]")
    page.evaluate(_HEADS_READY)
    times = time_moves(page)
    page.close()
    return times


def time_moves(page: Page) -> list[float]:
    """Return the milliseconds of each call of the page's function `moved`."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    ends = [page_thread_seconds(session)]
    for n in range(MOVES):
        page.evaluate("n => window.moved(n)", n + 1)
        ends.append(page_thread_seconds(session))
    return [1000 * (after - before) for before, after in itertools.pairwise(ends)]


def page_thread_seconds(session: Any) -> float:
    """Return the time that the page's main thread has worked."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def rows() -> list[Row]:
    chosen = explorer_cases()
    with open_chromium_window() as window:
        moves = {name: quantiles(time_redraws(window, kind)) for name, kind in chosen.items()}
        heads = quantiles(time_heads(window))
    median, high = ({name: pair[part] for name, pair in moves.items()} for part in (0, 1))
    old = {name: time_static_figure(kind.draw_static) for name, kind in chosen.items() if kind.draw_static}
    drawn = [median[name] for name in old]
    worst = Row(
        "redraw of an explorer, 95th percentile",
        list(high.values()), "ms", names=list(high), bar="16 ms", headline=True,
    )  # fmt: skip
    beside = "the kernel"
    return [
        worst,
        Row("redraw of an explorer, median", drawn, "ms", beside, list(old.values()), list(old)),
        Row("a head chosen in `show.attention`, 95th percentile", [heads[1]], "ms", bar="16 ms"),
    ]
