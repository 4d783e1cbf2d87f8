"""Exercises of lesson 10: prompts of linear regression, a layer that answers them, its circuits, and the estimators it comes down to."""

import torch
from torch import nn
from torch.nn import functional as F

from utils.feedback import Float, batch_independent, case, exercise, finite_when_loud, linear, moves_with_its_module, remembers_nothing
from utils.observe import sealed

# ---------------------------------------------------------------- data


def _drawn(x_like=None, noise=lambda d, s: d**0.5 * s, errors=lambda n, L: (n, L, 1), spread=torch.randn, question=None, answer_noise=0.0, beta_of=None, order="xy", examples_alone=False, shape=None):
    """Prompts with one piece replaced. All draws come from the generator."""
    def sample(n, L, d, noise_std, generator=None):
        x = spread(n, L, d, generator=generator) if x_like is None else x_like(n, L, d, generator)
        x_q = spread(n, 1, d, generator=generator)
        beta = torch.randn(n, d, 1, generator=generator) if beta_of is None else beta_of(n, d, generator)
        y = x @ beta + noise(d, noise_std) * torch.randn(*errors(n, L), generator=generator)
        y_q = x_q @ beta + answer_noise * noise(d, noise_std) * torch.randn(n, 1, 1, generator=generator)
        last = torch.zeros_like(y_q) if question is None else question(y_q)
        pairs = ((x, y), (x_q, last))
        z, z_q = (torch.cat(pair if turned == "xy" else pair[::-1], dim=-1) for pair, turned in zip(pairs, (order, "xy" if examples_alone else order)))
        made = z_q, z, y_q
        return made if shape is None else shape(*made)
    return sample


_MEASURED = (
    "error that all prompts share", "size of the noise in y", "spread of the entries of x", "spread of the entries of x_q", "mean of the entries of x and x_q", "fourth moment of x (3 for a normal distribution)",
    "spread of x between prompts", "spread of x within a prompt", "spread of β between prompts", "largest last entry of z_q",
    "distance of y_q from β·x_q", "overlap of x_q with the first x", "spread of the noise within a prompt", "likeness of the entries of β",
    "fourth moment of x_q (3 for a normal distribution)", "fourth moment of β (3 for a normal distribution)",
)


def _measured(result, n, L, d, noise_std, generator=None):
    """Shapes and types as they are, and for sixteen numbers that say how the prompts were drawn, how far they are off; β is found again by least squares."""
    if not isinstance(result, (tuple, list)) or len(result) != 3 or not all(isinstance(t, torch.Tensor) for t in result):
        return result
    z_q, z, y_q = (t.detach().double() if t.is_floating_point() else t for t in result)
    shapes = tuple(torch.zeros_like(t) for t in result)
    if [list(t.shape) for t in (z_q, z, y_q)] != [[n, 1, d + 1], [n, L, d + 1], [n, 1, 1]] or z.dtype != torch.float64:
        return *shapes, torch.full((len(_MEASURED),), torch.nan)
    x, y, x_q = z[..., :d], z[..., d:], z_q[..., :d]
    gram = x.mT @ x + 1e-9 * torch.eye(d, dtype=x.dtype)
    beta = torch.linalg.solve(gram, x.mT @ y)
    left = y - x @ beta
    numbers = torch.stack([
        left.mean(dim=0).square().mean().sqrt(), (left.square().sum() / (n * (L - d))).sqrt(), x.std(), x_q.std(), (x.mean() + x_q.mean()) / 2, x.square().square().mean() / x.square().mean().square().clamp_min(1e-9),
        x[:, 0].std(dim=0).mean(), (x - x.mean(dim=1, keepdim=True)).square().mean().sqrt() * (L / (L - 1)) ** 0.5, beta.std(dim=0).mean(),
        z_q[..., d].abs().max(), (y_q - x_q @ beta).square().mean().sqrt(), (x_q[:, 0] * x[:, 0]).mean(),
        ((left - left.mean(dim=1, keepdim=True)).square().sum() / (n * (L - d - 1 + d / L))).sqrt(), (beta[:, 0] * beta[:, -1]).mean(),
        *(t.square().square().mean() / t.square().mean().square().clamp_min(1e-9) for t in (x_q, beta)),
    ])
    return *shapes, _off(numbers, n, L, d, noise_std)


def _off(numbers, n, L, d, noise_std):
    """How far each number is off: 0 within the slack, which widens where there are few prompts, else in half octaves for sizes, and as a sign for the rest."""
    known = _known(L, d, noise_std)
    octaves = (torch.log2((numbers / known).clamp(2**-8, 2**8)) * 2).round() / 2
    octaves = torch.where(octaves == 0, (numbers - known).sign() / 4, octaves)
    off = torch.where(_SIZES & (known > 0), octaves, (numbers - known).sign())
    return torch.where((numbers - known).abs() <= _SLACK * max(1.0, 1500 / n) ** 0.5, torch.zeros(()).double(), off).float()


def _known(L, d, noise_std):
    """What the sixteen numbers are for infinitely many prompts: E (XᵀX)⁻¹ = I / (L − d − 1) for normal x."""
    variance = d * noise_std**2
    beyond = variance / (L - d - 1)
    return torch.tensor([0, variance**0.5, 1, 1, 0, 3, 1, 1, (1 + beyond) ** 0.5, 0, (d * beyond) ** 0.5, 0, variance**0.5, 0, 3, 3], dtype=torch.float64)


_SIZES = torch.tensor([False, True, True, True, False, False, True, True, True, False, True, False, True, False, False, False])
# At least six standard deviations of each of them at 1500 prompts (a test measures): a right answer is never taken for a wrong one.
_SLACK = torch.tensor([0.1, 0.07, 0.08, 0.1, 0.08, 0.25, 0.1, 0.08, 0.1, 1e-6, 0.14, 0.12, 0.07, 0.2, 0.6, 0.6], dtype=torch.float64)


def _from_the_generator(probe):
    """All chance comes from the generator; without one it comes from torch's own."""
    def run(seed, elsewhere):
        with sealed(elsewhere):
            before = torch.get_rng_state()
            made = probe.answer(6, 5, 3, 0.1, torch.Generator().manual_seed(seed))
            return torch.cat([t.flatten() for t in made]), torch.equal(before, torch.get_rng_state())

    (first, untouched), (again, _), (other, _) = run(1, 1), run(1, 2), run(2, 1)
    if not torch.equal(first, again):
        return "The same generator in the same state gave other prompts the second time: some numbers are drawn elsewhere. Pass the generator on to every call that draws, so that an experiment can be made again."
    generator = torch.Generator().manual_seed(1)
    with sealed():
        if torch.equal(*(probe.answer(6, 5, 3, 0.1, generator)[1] for _ in range(2))):
            return "Two calls in a row with one generator gave the same prompts: it is copied or seeded anew inside. Draw from it as it is, so that each call goes on where the last one ended."
    noise = [probe.answer(6, 5, 3, 0.1, torch.Generator().manual_seed(seed))[1] - probe.answer(6, 5, 3, 0.0, torch.Generator().manual_seed(seed))[1] for seed in (1, 2)]
    if noise[0].abs().max() > 1e-3 and torch.allclose(*noise, atol=1e-5):
        return "Two generators in different states gave the same errors of y. They too are drawn from the generator that is passed in."
    if torch.equal(first, other):
        return "Two generators in different states gave the very same prompts. Is something seeded inside? Draw from the generator that is passed in."
    if not untouched:
        return "With a generator passed in, torch's global random numbers were used or seeded as well. Draw from the generator alone."
    with sealed(3):
        free = [torch.cat([t.flatten() for t in probe.answer(6, 5, 3, 0.1)]) for _ in range(2)]
    if torch.equal(*free):
        return "Without a generator, two calls gave the same prompts. Training would see one batch for ever; draw from torch's own random numbers then."
    return None


exercise(
    "sample_regression",
    oracle=_drawn(),
    cases=lambda rand: [
        case(1500, 16, 5, 0.5, torch.Generator().manual_seed(int(rand.integers(1, high=10_000)))),
        case(1500, 10, 2, 0.0, torch.Generator().manual_seed(int(rand.integers(1, high=10_000))), note="without noise"),
    ],
    view=_measured,
    returns=(Float("n 1 d+1", name="z_q"), Float("n L d+1", name="z"), Float("n 1 1", name="y_q"), Float("fact", name="how the prompts were drawn")),
    properties=[_from_the_generator],
    differentiable=False,
    meaning=lambda index, yours, expected: f"the {_MEASURED[index[0]]} is too {'large' if yours > 0 else 'small'}; 0 would be right" if len(index) == 1 else "",
    misconceptions={
        "noise-not-scaled": (
            _drawn(noise=lambda d, s: s),
            "The noise has standard deviation noise_std. β·x itself has √d, and the noise is given relative to that: noise_std times √d.",
        ),
        "noise-times-d": (
            _drawn(noise=lambda d, s: d * s),
            "The noise has standard deviation noise_std times d. Its variance is d · noise_std²; the deviation is the root of that.",
        ),
        "no-noise": (
            _drawn(noise=lambda d, s: 0.0),
            "The y of the examples are exact. Each gets noise of its own, √d · noise_std in size.",
        ),
        "one-error-for-a-prompt": (
            _drawn(errors=lambda n, L: (n, 1, 1)),
            "All examples of a prompt carry the same error. That shifts the whole line; each example has an error of its own, [n, L, 1] of them.",
        ),
        "one-error-for-all-prompts": (
            _drawn(errors=lambda n, L: (1, L, 1)),
            "All prompts carry the same errors: example 0 of each is off by one and the same number. Each prompt draws its own, [n, L, 1] of them.",
        ),
        "one-number-for-beta": (
            _drawn(beta_of=lambda n, d, g: torch.randn(n, 1, 1, generator=g).expand(n, d, 1)),
            "All entries of a prompt's β are the same number. β has d entries, each drawn for itself.",
        ),
        "noisy-answer": (
            _drawn(answer_noise=1.0),
            "y_q carries noise too. It is what an answer is compared with, and no method could foresee that noise: y_q is β·x_q and nothing else.",
        ),
        "answer-given-away": (
            _drawn(question=lambda y_q: y_q),
            "z_q ends in y_q, so the question holds its own answer. A model would copy it; the place of y stays 0.",
        ),
        "one-beta-for-all": (
            _drawn(beta_of=lambda n, d, g: torch.randn(1, d, 1, generator=g).expand(n, -1, -1)),
            "All prompts of a batch share one β. A model could then learn that β by heart; each prompt has its own, so that it can only be found in the examples.",
        ),
        "one-x-for-all": (
            _drawn(x_like=lambda n, L, d, g: torch.randn(1, L, d, generator=g).expand(n, -1, -1)),
            "All prompts share the same x. Each prompt draws its own examples.",
        ),
        "one-x-in-a-prompt": (
            _drawn(x_like=lambda n, L, d, g: torch.randn(n, 1, d, generator=g).expand(-1, L, -1) + 1e-3 * torch.randn(n, L, d, generator=g)),
            "All examples of a prompt sit at nearly the same x. From one point nobody can tell a slope; each example is drawn afresh.",
        ),
        "uniform": (
            _drawn(spread=lambda *shape, generator=None: torch.rand(*shape, generator=generator)),
            "x is drawn evenly from 0 to 1. It is normal, with mean 0 and variance 1: randn, not rand.",
        ),
        "y-first": (
            _drawn(order="yx"),
            "y stands before x in the tokens. An example reads (x, y): the first d entries are x, the last one is y.",
        ),
        "y-first-in-the-examples": (
            _drawn(order="yx", examples_alone=True),
            "In z, y stands before x. An example reads (x, y): the first d entries are x, the last one is y, as in z_q.",
        ),
        "x_q-from-the-examples": (
            (lambda n, L, d, noise_std, generator=None: (lambda z_q, z, y_q: (
                torch.cat((z[:, :1, :d], torch.zeros_like(y_q)), -1), z, _line(z)(z[:, :1, :d])))(*_drawn()(n, L, d, noise_std, generator))),
            "The question repeats the first example's x. Its answer then stands in the prompt, and nothing has to be learned; x_q is a new point.",
        ),
        "beta-shrunk": (
            _drawn(beta_of=lambda n, d, g: torch.randn(n, d, 1, generator=g) / d**0.5),
            "β was divided by √d. Here each entry of β has variance 1, and it is the noise that takes √d.",
        ),
    },
    hints=(
        "Four things are drawn for each prompt: L points x, one question x_q, one β, and L small errors. What are their shapes, with n in front?",
        "With β as [n, d, 1], x @ β is [n, L, 1]: a matrix product for each prompt. torch.cat along the last axis makes tokens of x and y.",
        "Draw x, x_q, beta and the noise with torch.randn(..., generator=generator). y is x @ beta plus √d · noise_std times the noise; z joins x and y; z_q joins x_q and zeros; y_q is the question's own product with β.",
    ),
)


def _line(z):
    """What least squares makes of a prompt's examples, as a function of x."""
    x, y = z[..., :-1], z[..., -1:]
    return lambda at: at @ torch.linalg.lstsq(x, y).solution


# ---------------------------------------------------------------- the layer


def _heads(t, weight, n_embd):
    """[n, seq, D] through all heads' [heads · D, D] to [n, heads, seq, D]."""
    return torch.einsum("nsd,hed->nhse", t, weight.unflatten(0, (-1, n_embd)))


def _layer(scale=lambda D, H: D**-0.5, keys=lambda z_q, z: z, values=lambda z_q, z: z, swap=False, axis=-1, merge=None, mask=None, out=lambda y: y):
    """The layer with one piece replaced."""
    def answer(p, z_q, z):
        D = z.shape[-1]
        q_name, k_name = ("k_proj", "q_proj") if swap else ("q_proj", "k_proj")
        q, k = _heads(z_q, p[f"{q_name}.weight"], D), _heads(keys(z_q, z), p[f"{k_name}.weight"], D)
        v = _heads(values(z_q, z), p["v_proj.weight"], D)
        H = q.shape[1]
        if swap:
            q, k = _heads(z, p["q_proj.weight"], D), _heads(z_q, p["k_proj.weight"], D)
            scores = (k @ q.mT) * scale(D, H)
        else:
            scores = q @ k.mT * scale(D, H)
        if mask is not None:
            scores = mask(scores)
        heads = torch.softmax(scores, dim=axis) @ v
        joined = heads.transpose(1, 2).flatten(2) if merge is None else merge(heads)
        return out(joined @ p["o_proj.weight"].mT)
    return answer


def _sdpa(p, z_q, z):
    D = z.shape[-1]
    q, k, v = (_heads(t, p[f"{n}_proj.weight"], D) for t, n in ((z_q, "q"), (z, "k"), (z, "v")))
    return F.linear(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2), p["o_proj.weight"])


def _start(n_embd, n_head, n_out=1, bias=False, width=None, keys_first=False):
    width = width or n_embd
    q, k, v = (nn.Linear(n_embd, n_head * width, bias=bias) for _ in range(3))
    if keys_first:
        q, k = k, q
    return linear(q_proj=q, k_proj=k, v_proj=v, o_proj=nn.Linear(n_head * width, n_out, bias=bias))


def _both(z_q, z):
    return torch.cat((z, z_q), dim=1)


def _keeps_its_sizes(probe):
    """The circuits read n_embd, n_head and n_out."""
    asked = {"n_embd": 6, "n_head": 3, "n_out": 2}
    made = probe.answer(*asked.values())
    for name, size in asked.items():
        kept = getattr(made, name, "nothing")
        if kept != size:
            return f"QueryAttention(6, 3, 2) works, and its {name} is {kept}, not {size}. The circuits that come next read the three sizes from the layer."
    return None


exercise(
    "QueryAttention",
    initial=_start,
    oracle=_sdpa,
    cases=lambda rand: [
        case(rand(3, 1, 4), rand(3, 5, 4), init=(4, 2)),
        case(rand(2, 3, 6), rand(2, 7, 6), init=(6, 3, 2), seed=1, note="with three questions and two outputs"),
        case(rand(4, 1, 3), rand(4, 6, 3), init=(3, 1, 1), seed=2, note="with one head"),
        case(rand(5, 2, 4), rand(5, 1, 4), init=(4, 3, 2), seed=3, note="with a single example"),
        case(rand(2, 1, 6), rand(2, 5, 6), init=(6, 2), fill=False, seed=4, note="as it starts"),
    ],
    returns=Float("n queries n_out"),
    properties=[batch_independent(0), batch_independent(1), moves_with_its_module, remembers_nothing, _keeps_its_sizes, finite_when_loud()],
    misconceptions={
        "not-scaled": (
            _layer(scale=lambda D, H: 1.0),
            "The scores are not divided by the root of the heads' width. Here each head is n_embd wide, so that is √n_embd.",
        ),
        "multiplied": (
            _layer(scale=lambda D, H: D**0.5),
            "The scores were multiplied by the root of n_embd and should be divided by it. A dot product grows with that root as it is; now the softmax is sharper still, and picks one token.",
        ),
        "divided-by-the-width": (
            _layer(scale=lambda D, H: 1 / D),
            "You divided by n_embd instead of by its root. The spread of a dot product grows with the root of the width.",
        ),
        "scaled-by-all-heads": (
            _layer(scale=lambda D, H: (D * H) ** -0.5),
            "The scores are divided by the root of the width of all heads together. A score is a product over one head's n_embd numbers.",
        ),
        "scaled-by-a-part": (
            _layer(scale=lambda D, H: (D / H) ** -0.5),
            "The scores are divided by √(n_embd / n_head), as if the heads shared n_embd among them. Here each head is n_embd wide itself.",
        ),
        "sees-itself": (
            _layer(keys=_both, values=_both),
            "The question is among the keys, so that it looks at itself. Its y is 0 and says nothing; it looks at the examples in z alone.",
        ),
        "roles-swapped": (
            _layer(swap=True),
            "q_proj was used on the examples and k_proj on the question. The question asks: z_q goes through q_proj, z through k_proj and v_proj.",
        ),
        "softmax-over-questions": (
            _layer(axis=-2),
            "The softmax runs along the questions. Each question shares out its attention over the examples, the last axis of the scores.",
        ),
        "softmax-over-heads": (
            _layer(axis=1),
            "The softmax runs along the heads, so that heads compete for each example. Every head shares out one unit of its own over the examples.",
        ),
        "heads-not-moved-back": (
            _layer(merge=lambda heads: heads.reshape(len(heads), heads.shape[2], -1)),
            "The heads were flattened where they stand, [n, heads, queries, …]. With several questions that mixes them up; the heads' axis goes behind the questions' first.",
        ),
        "averaged-heads": (
            _layer(merge=lambda heads: heads.transpose(1, 2).flatten(2) / heads.shape[1]),
            "The heads' results are divided by their number. o_proj weighs them; nothing else does.",
        ),
        "causal": (
            _layer(mask=lambda s: s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)),
            "A causal mask hides examples. All of them come before the question, so nothing has to be hidden.",
        ),
        "squeezed": (
            _layer(out=lambda y: y.squeeze()),
            "The result has lost its axes of size 1. Keep [n, queries, n_out]: beside a y_q of [n, 1, 1], a flat one would be stretched into a table.",
        ),
        "with-biases": (
            _sdpa,
            "The layers have biases. This experiment has none: all that a head does is then in two matrix products.",
            lambda n_embd, n_head, n_out=1: _start(n_embd, n_head, n_out, bias=True),
        ),
        "keys-made-first": (
            _sdpa,
            "k_proj is made before q_proj. Each layer draws its numbers when it is made, so with one seed another order starts with other weights: q_proj, k_proj, v_proj, o_proj.",
            lambda n_embd, n_head, n_out=1: _start(n_embd, n_head, n_out, keys_first=True),
        ),
        "heads-share-the-width": (
            _sdpa,
            "The heads share n_embd among them. Here each head is as wide as a token: the projections give n_embd · n_head numbers.",
            lambda n_embd, n_head, n_out=1: _start(n_embd, n_head, n_out, width=max(1, n_embd // n_head)),
        ),
    },
    hints=(
        "It is lesson 05's layer with two differences: queries come from z_q, keys and values from z; and each head is n_embd wide.",
        "unflatten(-1, (n_head, n_embd)) and a transpose split the heads; no mask is needed.",
        "q from q_proj(z_q), k and v from z, each [n, heads, seq, n_embd]. softmax(q @ k.mT / root of n_embd) @ v; move the heads' axis back behind the questions', flatten, and send it through o_proj.",
    ),
)


# ---------------------------------------------------------------- circuits


class _Model(nn.Module):
    """A layer with drawn weights; sizes differ wherever they can."""

    def __init__(self, n_embd, n_head, n_out, rand):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        for name, (rows, columns) in {"q": (n_head * n_embd, n_embd), "k": (n_head * n_embd, n_embd), "v": (n_head * n_embd, n_embd), "o": (n_out, n_head * n_embd)}.items():
            layer = nn.Linear(columns, rows, bias=False)
            layer.weight.data = rand(rows, columns)
            setattr(self, f"{name}_proj", layer)


def _qk_by_basis(model):
    """What a head makes of unit vectors: entry [a, b] is the score of question e_a with example e_b."""
    eye = torch.eye(model.n_embd)
    q, k = (proj(eye).detach().view(model.n_embd, model.n_head, -1) for proj in (model.q_proj, model.k_proj))
    return torch.stack([q[:, h] @ k[:, h].T for h in range(model.n_head)]) / model.n_embd**0.5


def _ov_by_basis(model):
    """What comes out of a head that sees nothing but e_a, for each a."""
    values = model.v_proj(torch.eye(model.n_embd)).detach()
    only = []
    for h in range(model.n_head):
        kept = torch.zeros_like(values)
        part = slice(h * model.n_embd, (h + 1) * model.n_embd)
        kept[:, part] = values[:, part]
        only.append(model.o_proj(kept).detach())
    return torch.stack(only)


def _blocks(model, name):
    return getattr(model, f"{name}_proj").weight.detach().view(model.n_head, model.n_embd, model.n_embd)


def _o_blocks(model):
    return model.o_proj.weight.detach().view(model.n_out, model.n_head, model.n_embd).permute(1, 2, 0)  # [heads, D, n_out]


def _mixed(model, name):
    """The heads cut across: every n_head-th row instead of neighbouring ones."""
    return getattr(model, f"{name}_proj").weight.detach().view(model.n_embd, model.n_head, model.n_embd).transpose(0, 1)


_TRANSPOSED_LINEAR = "nn.Linear keeps its weight as [out, in] and multiplies by its transpose"

exercise(
    "qk_circuit",
    oracle=_qk_by_basis,
    cases=lambda rand: [case(_Model(*sizes, rand)) for sizes in ((4, 3, 1), (3, 2, 2), (6, 1, 1))],
    returns=Float("heads D D"),
    differentiable=False,
    misconceptions={
        "question-and-example-swapped": (
            lambda model: _blocks(model, "k").mT @ _blocks(model, "q") / model.n_embd**0.5,
            "Rows and columns have changed places: yours is to be multiplied as z @ QK @ z_q. The question stands on the left, so the queries' matrix comes first.",
        ),
        "wrong-side": (
            lambda model: _blocks(model, "q") @ _blocks(model, "k").mT / model.n_embd**0.5,
            "The product runs over the entries of the tokens instead of over the head's own numbers. " + _TRANSPOSED_LINEAR
            + ", so it is the query weight that has to be turned, not the key weight. The sizes agree either way, and the numbers do not.",
        ),
        "not-turned": (
            lambda model: _blocks(model, "q") @ _blocks(model, "k") / model.n_embd**0.5,
            "The two weights were multiplied as they stand. " + _TRANSPOSED_LINEAR + ", so one of the two has to be turned.",
        ),
        "both-turned": (
            lambda model: _blocks(model, "q").mT @ _blocks(model, "k").mT / model.n_embd**0.5,
            "Both weights were turned. The head's own numbers have to meet in the middle of the product: one weight brings them as rows, so only one is turned.",
        ),
        "not-scaled": (
            lambda model: _blocks(model, "q").mT @ _blocks(model, "k"),
            "The root of n_embd is missing. The layer divides its scores by it, and QK is what makes the scores.",
        ),
        "scaled-twice": (
            lambda model: _blocks(model, "q").mT @ _blocks(model, "k") / model.n_embd,
            "The product was divided by n_embd. The layer divides by its root.",
        ),
        "heads-cut-across": (
            lambda model: _mixed(model, "q").mT @ _mixed(model, "k") / model.n_embd**0.5,
            "The rows were dealt out to the heads in turn. A head's rows are neighbours: the first n_embd rows are head 0.",
        ),
        "heads-summed": (
            lambda model: (_blocks(model, "q").mT @ _blocks(model, "k")).sum(0, keepdim=True).expand(model.n_head, -1, -1) / model.n_embd**0.5,
            "All heads have the same matrix, the sum over heads. Each head has scores of its own; cut the weights by heads before you multiply.",
        ),
        "queries-twice": (
            lambda model: _blocks(model, "q").mT @ _blocks(model, "q") / model.n_embd**0.5,
            "The queries' weight was multiplied with itself. A score is a query times a key.",
        ),
        "values-for-keys": (
            lambda model: _blocks(model, "q").mT @ _blocks(model, "v") / model.n_embd**0.5,
            "The values' weight stands where the keys' belongs. Scores are made of queries and keys.",
        ),
    },
    hints=(
        "Write the score of one question with one example as z_q · (something) · z. What is the something, for one head?",
        "A query is z_q @ W_Q.T, a key is z @ W_K.T, and a score is a query times a key. Put the first into the last.",
        "Cut both weights into [heads, n_embd, n_embd]. For each head: the query weight turned, times the key weight, divided by the root of n_embd.",
    ),
)


exercise(
    "ov_circuit",
    oracle=_ov_by_basis,
    cases=lambda rand: [case(_Model(*sizes, rand)) for sizes in ((4, 3, 1), (3, 2, 2), (5, 1, 3), (4, 2, 4))],
    returns=Float("heads D n_out"),
    differentiable=False,
    misconceptions={
        "values-not-turned": (
            lambda model: _blocks(model, "v") @ _o_blocks(model),
            "The value weight was multiplied as it stands. " + _TRANSPOSED_LINEAR + ", so it has to be turned; it is square, and so nothing complains.",
        ),
        "output-side-first": (
            lambda model: (_blocks(model, "v").mT @ _o_blocks(model)).mT.contiguous(),
            "Rows and columns have changed places: [heads, n_out, D]. A token stands on the left, as in z @ OV, so its entries are the rows.",
        ),
        "heads-cut-across": (
            lambda model: _blocks(model, "v").mT @ model.o_proj.weight.detach().view(model.n_out, model.n_embd, model.n_head).permute(2, 1, 0),
            "The columns of o_proj were dealt out to the heads in turn. A head's columns are neighbours: the first n_embd columns are head 0.",
        ),
        "values-cut-across": (
            lambda model: _mixed(model, "v").mT @ _o_blocks(model),
            "The rows of v_proj were dealt out to the heads in turn. A head's rows are neighbours: the first n_embd rows are head 0.",
        ),
        "reshaped": (
            lambda model: _blocks(model, "v").mT @ model.o_proj.weight.detach().reshape(model.n_head, model.n_embd, model.n_out),
            "o_proj's weight was reshaped to [heads, n_embd, n_out]. Its columns are the heads' numbers and its rows the outputs; with one output "
            "a reshape happens to be right, with more it deals the numbers out anew.",
        ),
        "scaled": (
            lambda model: _blocks(model, "v").mT @ _o_blocks(model) / model.n_embd**0.5,
            "The product was divided by the root of n_embd. Only scores are; values and outputs are not.",
        ),
        "heads-summed": (
            lambda model: (_blocks(model, "v").mT @ _o_blocks(model)).sum(0, keepdim=True).expand(model.n_head, -1, -1),
            "All heads have the same matrix, the sum over heads. Each head mixes tokens by weights of its own, so each has an OV of its own.",
        ),
        "keys-for-values": (
            lambda model: _blocks(model, "k").mT @ _o_blocks(model),
            "The keys' weight stands where the values' belongs. What is passed on are values.",
        ),
        "same-block-for-all": (
            lambda model: _blocks(model, "v").mT @ _o_blocks(model)[:1],
            "Every head goes through head 0's part of o_proj. Head h has its own n_embd columns.",
        ),
    },
    hints=(
        "A head mixes tokens, and what it mixed goes through two matrices on its way out. Which two, and in which order?",
        "o_proj sees all heads side by side: head 0 owns its first n_embd columns, head 1 the next.",
        "Cut v_proj's weight into [heads, n_embd, n_embd] and turn each; cut o_proj's columns by heads, each part turned to [n_embd, n_out]. Multiply them in this order.",
    ),
)


# ---------------------------------------------------------------- estimators


def _kernel(scores=lambda x_q, x, z_q, z: x_q @ x.mT, weigh=lambda s, w: torch.softmax(w * s, dim=-1), of=lambda z: z[..., -1:], over=sum, share=lambda m, t: m * t, out=lambda y: y):
    """The kernel estimator with one piece replaced."""
    def answer(z_q, z, w, mu):
        s = scores(z_q[..., :-1], z[..., :-1], z_q, z)
        return out(over([share(m, weigh(s, a) @ of(z)) for a, m in zip(w, mu)]))
    return answer


def _nadaraya_watson(z_q, z, w, mu):
    """By the definition of a kernel estimate: Σ K(x_i) y_i / Σ K(x_i), with K taken relative to its largest."""
    x_q, x, y = z_q[..., :-1].double(), z[..., :-1].double(), z[..., -1].double()
    total = torch.zeros(*z_q.shape[:-1], dtype=torch.float64)
    for a, m in zip(w, mu):
        near = float(a) * torch.einsum("nqd,nld->nql", x_q, x)
        k = torch.exp(near - near.amax(-1, keepdim=True))
        total = total + float(m) * torch.einsum("nql,nl->nq", k, y) / k.sum(-1)
    return total[..., None].float()


def _question(rand, *shape):
    """z_q with a 0 at its end."""
    return torch.cat((rand(*shape), torch.zeros(*shape[:-1], 1)), dim=-1)


exercise(
    "kernel_estimator",
    oracle=_nadaraya_watson,
    cases=lambda rand: [
        case(_question(rand, 3, 1, 4), rand(3, 6, 5), [0.8, -0.5], [1.5, -2.0]),
        case(_question(rand, 4, 1, 3), rand(4, 5, 4), [0.4], [3.0], note="with one head"),
        case(_question(rand, 2, 3, 2), rand(2, 7, 3), [0.3, -0.9, 1.2], [0.7, 1.1, -1.3], note="with three questions and three heads"),
    ],
    returns=Float("n queries 1"),
    properties=[batch_independent(0), batch_independent(1), finite_when_loud()],
    differentiable=False,
    misconceptions={
        "mu-forgotten": (
            _kernel(share=lambda m, t: t),
            "μ has no effect. It says how much of each head's average goes into the answer.",
        ),
        "w-forgotten": (
            _kernel(weigh=lambda s, w: torch.softmax(s, dim=-1)),
            "w has no effect. It multiplies x_q·x_i before the softmax, and its sign says which examples count: those alike or those opposite.",
        ),
        "w-after-the-softmax": (
            _kernel(weigh=lambda s, w: w * torch.softmax(s, dim=-1)),
            "w multiplies the weights instead of the scores. Before the softmax it sharpens or turns them round; after it, it is a second μ.",
        ),
        "not-a-softmax": (
            _kernel(weigh=lambda s, w: torch.exp(w * s)),
            "The weights are exponentials that were never divided by their sum. A softmax shares out one unit.",
        ),
        "no-exponential": (
            _kernel(weigh=lambda s, w: w * s / s.shape[-1]),
            "The scores themselves are the weights. That is the gradient step to come; the layer sends scores through a softmax.",
        ),
        "scaled-again": (
            _kernel(scores=lambda x_q, x, z_q, z: x_q @ x.mT / z.shape[-1] ** 0.5),
            "The scores are divided by √(d + 1) once more. That factor is in w already: w was read from QK, which holds it.",
        ),
        "averaged-heads": (
            _kernel(over=lambda terms: sum(terms) / len(terms)),
            "The heads are averaged. Their contributions add up, as o_proj adds them.",
        ),
        "first-head-only": (
            _kernel(over=lambda terms: terms[0]),
            "Only the first head counts. The answer is the sum over all of them.",
        ),
        "wrong-axis": (
            _kernel(weigh=lambda s, w: torch.softmax(w * s, dim=-2)),
            "The softmax runs along the questions. With one question every weight is then 1; it runs along the examples.",
        ),
        "distance-kernel": (
            _kernel(scores=lambda x_q, x, z_q, z: -torch.cdist(x_q, x).square() / 2),
            "Examples are weighed by their distance from x_q, as in the classic kernel estimate. Attention knows inner products: x_q·x_i.",
        ),
        "x-mixed-in": (
            _kernel(of=lambda z: z.sum(-1, keepdim=True)),
            "What is averaged holds x as well. Only y, the last entry of an example, goes into the answer.",
        ),
        "flat": (
            _kernel(out=lambda y: y.squeeze(-1)),
            "The result has lost its last axis. Keep [n, queries, 1], the shape of y_q: the difference of [n, 1] and [n, 1, 1] would be a table.",
        ),
    },
    equivalent={"y-in-the-product": lambda z_q, z, w, mu: _kernel(scores=lambda x_q, x, z_q, z: z_q @ z.mT)(z_q, z, w, mu)},
    hints=(
        "One head first: weights over the examples from x_q·x_i, then the average of y with these weights.",
        "x is z without its last entry, y is the last one. The softmax of w · x_q·x_i runs along the examples.",
        "The inner products of x_q with all x are [n, queries, L]. For each pair of w and mu, add mu times the softmax of w times these, multiplied by y as [n, L, 1].",
    ),
)


def _by_autograd(z_q, z):
    """One step of gradient descent with rate 1 from β = 0 on half the mean squared error, by automatic differentiation."""
    with torch.enable_grad():
        beta = torch.zeros(len(z), z.shape[-1] - 1, 1, requires_grad=True)
        x, y = z[..., :-1].detach(), z[..., -1:].detach()
        loss = 0.5 * (x @ beta - y).square().mean(dim=1).sum()
        step, = torch.autograd.grad(loss, beta)
    return z_q[..., :-1] @ -step


def _step(weigh=lambda x, y: x.mT @ y / x.shape[-2], out=lambda y: y):
    return lambda z_q, z: out(z_q[..., :-1] @ weigh(z[..., :-1], z[..., -1:]))


exercise(
    "gradient_step_estimator",
    oracle=_by_autograd,
    cases=lambda rand: [
        case(_question(rand, 3, 1, 4), rand(3, 6, 5)), case(_question(rand, 5, 1, 2), rand(5, 9, 3)), case(_question(rand, 2, 3, 3), rand(2, 4, 4), note="with three questions"),
    ],
    returns=Float("n queries 1"),
    properties=[batch_independent(0), batch_independent(1)],
    differentiable=False,
    misconceptions={
        "not-divided": (
            _step(lambda x, y: x.mT @ y),
            "The sum over the examples is not divided by L. With 40 examples the answer is then 40 times too large.",
        ),
        "factor-two": (
            _step(lambda x, y: 2 * x.mT @ y / x.shape[-2]),
            "There is a factor of 2, from the derivative of a square. The loss here is half the mean square, so that it cancels.",
        ),
        "uphill": (
            _step(lambda x, y: -x.mT @ y / x.shape[-2]),
            "The step goes up the loss: the sign is wrong. Gradient descent goes against the gradient, and the gradient at β = 0 is minus the mean of y·x.",
        ),
        "divided-by-d": (
            _step(lambda x, y: x.mT @ y / x.shape[-1]),
            "The sum is divided by d, the entries of x. It is the mean over L examples.",
        ),
        "centred": (
            _step(lambda x, y: (x - x.mean(-2, keepdim=True)).mT @ y / x.shape[-2]),
            "The mean of x was taken off first. That is what a pair of softmax heads does, as you will see; plain gradient descent does not.",
        ),
        "solved": (
            _step(lambda x, y: torch.linalg.pinv(x) @ y),
            "This is the whole least-squares solution. Asked for is a single step towards it, from β = 0.",
        ),
        "normalised": (
            _step(lambda x, y: x.mT @ y / x.square().sum((-2, -1), keepdim=True)),
            "The sum is divided by the squared length of all x. The step's size is 1, over the mean of L examples.",
        ),
        "softmaxed": (
            lambda z_q, z: torch.softmax(z_q[..., :-1] @ z[..., :-1].mT, -1) @ z[..., -1:],
            "The inner products went through a softmax. A gradient step uses them as they are, negative ones included.",
        ),
        "flat": (
            _step(out=lambda y: y.squeeze(-1)),
            "The result has lost its last axis. Keep [n, queries, 1], the shape of y_q.",
        ),
    },
    equivalent={"with-the-zero": lambda z_q, z: z_q @ z.mT @ z[..., -1:] / z.shape[-2]},
    hints=(
        "Work out β after one step from 0: each example pulls β along its x, as hard as its y is large.",
        "β is the mean of y_i · x_i over the examples; the answer is β·x_q.",
        "x.mT @ y is the sum of y_i · x_i, [n, d, 1]. Divide it by L and multiply by x_q from the left.",
    ),
)
