"""Every static figure of the course, one function per kind.

Each function returns a `Picture`, which a notebook shows as an image with alt text and a terminal prints as that text.
Rows are queries, columns are keys. Arguments may be tensors (also ones that require grad), arrays or nested lists;
what cannot be drawn is refused with a ValueError that says what was given and what was expected.
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
        "gram_attention": ["volume"],
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
