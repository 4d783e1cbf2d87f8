"""Provide the explorers: widgets that show how numbers change when a learner moves a control.

An explorer starts at an interesting setting. Each function returns a widget, whose `state` contains the values of the
controls. Most widgets compute in the browser and need no kernel. A terminal, a printed page and CI show one sentence
instead of the widget; `utils.show` has static versions of the pictures.

Start with `causal_attention`. Imports: gpt2, learner_data, lessons, models, show.
"""

from utils.show.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "abc_sorter": ["sorter"],
        "causal_attention": ["causal"],
        "dot_products": ["dot_product"],
        "gram_attention": ["volume"],
        "icl_regression": ["regression"],
        "next_tokens": ["next_token"],
        "normalisation": ["layer_norm"],
        "learner_sentence": ["my_sentence", "sentence"],
        "positional_encoding": ["positions"],
        "predictions": ["predict"],
        "query_path": ["query"],
        "quizzes": ["quiz"],
        "scaled_scores": ["scaling"],
        "softmax_rows": ["softmax"],
        "tokenization": ["tokens"],
        "toy_transformer": ["writer"],
        "where_the_answer_comes_from": ["patching"],
    },
)
