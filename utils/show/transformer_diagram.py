"""Draw the residual stream of a transformer. In every layer, attention and MLP read from the stream and add to it."""

from __future__ import annotations

from typing import Any

from utils.show.arguments import parse_integer
from utils.show.colours import BLUE, GREEN, INK, MUTED, PAPER, PURPLE, TINTS, VERMILION
from utils.show.marks import draw_arrow, draw_rounded_box
from utils.show.picture import Picture, axes_bounds_inches, course_theme, finish_picture, new_canvas
from utils.show.sizes import BENCH, SMALL, TEXT
from utils.show.text_format import count_text

MOST_LAYERS = 4  # if there are more layers, the diagram leaves out the layers between the second and the last
WIDE = 5.7  # inches, like all positions below
ROAD, BRANCH = 1.35, 3.25  # the x positions of the centres of the stream and of the branches


@course_theme()
def residual_stream(n_layers: int = 2) -> Picture:
    """Draw a transformer from top to bottom: tokens, embedding, residual stream with layers, logits, probabilities.

    Args:
        n_layers: at least 1. Each layer has an attention and an MLP, which read the stream and add to it. If there are
            more than 4 layers, the diagram shows the first two and the last.

    Raises:
        ValueError: if `n_layers` is not a whole number of at least 1.
    """
    n_layers = parse_integer(n_layers, "n_layers", 1)
    shown = list(range(n_layers)) if n_layers <= MOST_LAYERS else [0, 1, n_layers - 1]
    drawing = _Diagram()
    drawing.box("tokens", "[batch, seq]", "token ids, whole numbers")
    drawing.arrow()
    drawing.box(
        "embedding", "[batch, seq, d_model]", "the token's vector + its position's vector", GREEN, "W_E + W_pos"
    )
    top = drawing.y
    drawing.draw_stream_state("x0", "the embeddings, unchanged")
    for layer in shown:
        if layer - 1 not in (-1, *shown):
            drawing.draw_gap(f"{count_text(n_layers - len(shown), 'layer')} like these")
            drawing.draw_stream_state(f"x{layer}", f"after layer {layer - 1}")
        drawing.draw_branch("attention", "moves information\nbetween positions", BLUE)
        drawing.draw_branch("MLP", "works on each\nposition separately", PURPLE)
        drawing.draw_stream_state(f"x{layer + 1}", f"x{layer} + attention + MLP: after layer {layer}")
    drawing.end_road(top)
    drawing.box("final norm", "[batch, seq, d_model]", "scales all vectors to one size", GREEN)
    drawing.arrow()
    drawing.box("unembedding", "[batch, seq, vocab]", "a score for every token: the logits", GREEN, "W_U")
    drawing.arrow()
    drawing.box("softmax", "[batch, seq, vocab]", "probabilities of the next token", VERMILION)
    drawing.crop_axes()
    states = ", ".join(f"x{k}" for k in range(n_layers + 1))
    left_out = "" if len(shown) == n_layers else f" The diagram shows the layers {', '.join(map(str, shown))}."
    alt = (
        f"A transformer of {count_text(n_layers, 'layer')}, from top to bottom. "
        "Tokens [batch, seq] go through the embedding W_E + W_pos and become the residual stream "
        f"[batch, seq, d_model]: one straight path down, with the states {states}. In each layer, attention moves "
        "information between positions, and then an MLP works on each position separately. Both read the stream, "
        f"and their outputs are added to the stream.{left_out} Below, the final norm and the unembedding W_U give the "
        "logits [batch, seq, vocab], and softmax turns them into probabilities of the next token."
    )
    return finish_picture(drawing.figure, None, "Every layer reads from the residual stream, and adds to it", alt)


class _Diagram:
    """A diagram drawn from top to bottom, with positions in inches. `crop_axes` removes the empty space below."""

    def __init__(self) -> None:
        self.figure, self.axes = new_canvas(0.5, 0.2, WIDE, 9)
        self.y = 0.0

    def _frame(self, x: float, y: float, width: float, height: float, edge: str) -> None:
        draw_rounded_box(self.axes, x, y, width, height, PAPER, edge, 0.07, clip_on=False, linewidth=1.3, zorder=4)

    def _line(self, points: list[tuple[float, float]], colour: str) -> None:
        """Draw a line along `points`, with an arrowhead at its end."""
        self.axes.plot(*zip(*points), color=colour, linewidth=1.4, zorder=3, solid_capstyle="butt")
        draw_arrow(self.axes, points[-2], points[-1], colour, 1.4, 11, zorder=3)

    def box(self, name: str, shape: str, remark: str, colour: str = MUTED, weights: str = "") -> None:
        """Draw a part in the main column, with the shape of its output and a remark beside it."""
        height, width = 0.34, 1.7
        self._frame(ROAD - width / 2, self.y, width, height, colour)
        middle = self.y + height / 2
        self.axes.text(ROAD, middle - (0.06 if weights else 0), name, ha="center", va="center", weight="bold", zorder=5)
        if weights:
            small: dict[str, Any] = dict(size=SMALL - 1.5, color=MUTED, zorder=5)
            self.axes.text(ROAD, middle + 0.09, weights, ha="center", va="center", **small)
        self._beside(middle, shape, remark)
        self.y += height

    def _beside(self, y: float, shape: str, remark: str) -> None:
        x = ROAD + 1.05
        self.axes.text(x, y - 0.08, shape, va="center", size=SMALL, color=INK)
        self.axes.text(x, y + 0.09, remark, va="center", size=SMALL - 0.5, color=MUTED)

    def arrow(self, length: float = 0.24) -> None:
        self._line([(ROAD, self.y), (ROAD, self.y + length)], MUTED)
        self.y += length

    def draw_stream_state(self, name: str, remark: str) -> None:
        """Draw a state of the stream."""
        from matplotlib.patches import Circle

        self.y += 0.3
        self.axes.add_patch(Circle((ROAD, self.y), 0.17, facecolor=PAPER, edgecolor=VERMILION, linewidth=1.6, zorder=5))
        self.axes.text(ROAD, self.y, name, ha="center", va="center_baseline", weight="bold", zorder=6)
        self._beside(self.y, "[batch, seq, d_model]", remark)
        self.y += 0.16

    def draw_branch(self, name: str, remark: str, colour: str) -> None:
        """Draw a part that reads from the stream and adds to it."""
        from matplotlib.patches import Circle

        out, middle, back = self.y + 0.16, self.y + 0.39, self.y + 0.62
        self.axes.plot([ROAD], [out], "o", color=colour, markersize=4.5, zorder=5)
        self._line([(ROAD, out), (BRANCH, out), (BRANCH, middle - 0.15)], colour)
        self._frame(BRANCH - 0.6, middle - 0.14, 1.2, 0.28, colour)
        self.axes.text(BRANCH, middle, name, ha="center", va="center_baseline", weight="bold", zorder=5)
        self._line([(BRANCH, middle + 0.14), (BRANCH, back), (ROAD + 0.12, back)], colour)
        self.axes.add_patch(Circle((ROAD, back), 0.1, facecolor=PAPER, edgecolor=colour, linewidth=1.4, zorder=5))
        bold = {"color": colour, "weight": "bold", "zorder": 6}
        self.axes.text(ROAD, back, "+", ha="center", va="center_baseline", size=TEXT + 1, **bold)
        self.axes.text(ROAD + 0.22, out - 0.03, "reads", va="bottom", size=SMALL - 1, color=colour)
        self.axes.text(ROAD + 0.22, back - 0.03, "adds", va="bottom", size=SMALL - 1, color=colour)
        small = {"size": SMALL - 0.5, "color": MUTED, "linespacing": 1.25}
        self.axes.text(BRANCH + 0.7, middle, remark, va="center", **small)
        self.y += 0.7

    def draw_gap(self, remark: str) -> None:
        """Draw three dots for layers that are left out."""
        self.y += 0.24
        self.axes.text(ROAD, self.y, "⋮", ha="center", va="center_baseline", size=TEXT + 5, weight="bold", zorder=5)
        self.axes.text(BRANCH, self.y, remark, ha="center", va="center_baseline", size=SMALL, color=MUTED)

    def end_road(self, top: float) -> None:
        from matplotlib.patches import Polygon

        self.y += 0.3
        left, right, neck = ROAD - 0.13, ROAD + 0.13, self.y - 0.16
        head = [(right, neck), (right + 0.08, neck), (ROAD, self.y), (left - 0.08, neck), (left, neck)]
        road = [(left, top), (right, top), *head]
        self.axes.add_patch(Polygon(road, facecolor=TINTS[1], edgecolor="none", zorder=1))
        look = {"rotation": 90, "size": TEXT + 1, "color": VERMILION, "weight": "bold"}
        self.axes.text(ROAD - 0.3, (top + self.y) / 2, "the residual stream", ha="right", va="center", **look)

    def crop_axes(self) -> None:
        x, _, width, _ = axes_bounds_inches(self.axes)
        self.axes.set_ylim(self.y + 0.02, -0.02)
        self.axes.set_position((x / BENCH, 0.02, width / BENCH, (self.y + 0.04) / BENCH))
