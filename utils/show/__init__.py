"""Draw the static figures of the course: one function for each kind of figure.

Each function returns a `Picture`. A notebook shows it as an image with alt text; a terminal prints the alt text. In
tables, rows are queries and columns are keys. Arguments may be tensors (with or without gradients), arrays or nested
lists. If an argument cannot be drawn, the function raises a ValueError that says what was given and what is expected.

Start with `picture`. Imports: no other package.
"""

from utils.show.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "abc_sorter": ["gates", "trace"],
        "causal_attention": ["causal", "dropped"],
        "class_results": ["counted", "standing"],
        "charts": ["bars", "curves", "lines", "strips"],
        "flow": ["steps"],
        "gram_attention": ["sarrus", "volume"],
        "icl_regression": ["against", "circuits", "dynamics", "prompts", "valley"],
        "layer_norm": ["distributions", "norm_places"],
        "multihead_attention": ["cuts", "one_matrix", "packed"],
        "picture": ["Picture"],
        "patterns": ["attention"],
        "plane": ["mixing", "vectors"],
        "positional_encoding": ["heat", "turning"],
        "scaling": ["entropy", "jacobian_norm", "saturation", "saturation_study"],
        "simplified_attention": ["looking_back", "variants"],
        "transformer_diagram": ["residual_stream"],
        "tables": ["grid", "mask", "scores", "weights"],
        "tokenization": ["merges", "next_tokens", "tokens"],
        "where_the_answer_comes_from": ["effects"],
    },
)
