"""What the lessons say of the real GPT-2. Collected only where its weights are (conftest.py at the root); nothing is skipped.

The figures of layer 0 are those published with poloclub/transformer-explainer (MIT) for five short prompts.
"""

import torch

from utils import gpt2

PROMPTS = (
    "Data visualization empowers users to", "Artificial Intelligence is transforming the", "As the spaceship was approaching the",
    "On the deserted planet they discovered a", "IEEE VIS conference highlights the",
)  # fmt: skip
MEANS = {  # head: mean weight on the previous position, the position itself, position 0, over rows 2 and later of the five prompts
    0: (0.19, 0.12, 0.42), 1: (0.00, 0.96, 0.00), 2: (0.16, 0.13, 0.50), 3: (0.07, 0.84, 0.04), 4: (0.21, 0.48, 0.18), 5: (0.00, 0.88, 0.05),
    6: (0.22, 0.13, 0.33), 7: (0.35, 0.19, 0.25), 8: (0.16, 0.27, 0.35), 9: (0.18, 0.11, 0.47), 10: (0.10, 0.32, 0.40), 11: (0.19, 0.19, 0.40),
}  # fmt: skip


def pattern(prompt, head):
    tokens, x = gpt2.get_pre_attn(prompt)
    W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
    scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T / W_Q.shape[1] ** 0.5
    return scores.masked_fill(torch.ones(len(tokens), len(tokens)).triu(1).bool(), -torch.inf).softmax(-1)


def means(prompts, head):
    """Mean weight on previous, current and first position over rows 2 and later."""
    rows = []
    for prompt in prompts:
        p = pattern(prompt, head)
        rows += [(p[i, i - 1], p[i, i], p[i, 0]) for i in range(2, len(p))]
    return torch.tensor(rows).mean(0)


def test_it_is_the_real_one():
    found = gpt2.source()
    assert found.real and (found.n_layers, found.n_heads, found.d_model, found.n_positions) == (12, 12, 768, 1024)


def test_layer_0_attends_as_published():
    for head, published in MEANS.items():
        assert torch.allclose(means(PROMPTS, head), torch.tensor(published), atol=0.006), head
    # rows 1 and 2 of head 0.0 on the first prompt, to six decimals
    assert torch.allclose(pattern(PROMPTS[0], 0)[2, :3], torch.tensor([0.631527, 0.205614, 0.162859]), atol=2e-3)


def test_it_gives_the_drink_to_mary():
    model, tokenizer = gpt2.load_gpt2()
    ids = tokenizer("When Mary and John went to the store, John gave a drink to", return_tensors="pt").input_ids
    with torch.no_grad():
        assert tokenizer.decode(model(ids).logits[0, -1].argmax()) == " Mary"
