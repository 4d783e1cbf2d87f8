"""Every explorer of the course: offline widgets that start at an interesting setting and show the number that changes.

Each function returns a box of ipywidgets. Where widgets cannot be shown (a terminal, a printed page, CI) it is a
sentence that says the same; the static twins of the pictures are in `utils.show`.
"""

from utils.show.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "abc_sorter": ["sorter"],
        "causal_attention": ["causal"],
        "gram_attention": ["volume"],
        "icl_regression": ["regression"],
        "normalising": ["layer_norm"],
        "positional_encoding": ["positions"],
        "questions": ["predict", "quiz"],
        "scores": ["dot_product", "scaling", "softmax"],
        "tokenization": ["next_token", "tokens"],
        "toy_transformer": ["writer"],
        "where_the_answer_comes_from": ["patching"],
    },
)
