"""Every explorer of the course: offline widgets that start at an interesting setting and show the number that changes.

Each function returns a box of ipywidgets. Where widgets cannot be shown (a terminal, a printed page, CI) it is a
sentence that says the same; the static twins of the pictures are in `utils.show`.
"""

from utils.explore.causal import causal
from utils.explore.normalising import layer_norm
from utils.explore.positions import positions
from utils.explore.questions import predict, quiz
from utils.explore.regression import regression
from utils.explore.scores import dot_product, scaling, softmax
from utils.explore.sorter import sorter
from utils.explore.tokens import next_token, tokens
from utils.explore.toy import writer
from utils.explore.volume import volume

__all__ = ["causal", "dot_product", "layer_norm", "next_token", "positions", "predict", "quiz", "regression", "scaling", "softmax", "sorter", "tokens", "volume", "writer"]
