# %% count_pairs wrong (structure): most_common gives a list of pairs and counts, sorted by frequency
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """How often each pair of neighbours occurs in ids, in the order in which the pairs are first met."""
    from collections import Counter

    return Counter(zip(ids, ids[1:])).most_common()

# %% merge wrong (misconception first-only): finds the first place with index and replaces only that one
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """A new list in which new_id replaces the pair wherever it occurs in ids."""
    for i in range(len(ids) - 1):
        if (ids[i], ids[i + 1]) == pair:
            return ids[:i] + [new_id] + ids[i + 2 :]
    return list(ids)

# %% merge wrong (misconception overlapping): a for loop whose i += 1 does not skip anything, and an elif that loses single ids
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """A new list in which new_id replaces the pair wherever it occurs in ids."""
    out = []
    for i in range(len(ids)):
        if i < len(ids) - 1 and ids[i] == pair[0] and ids[i + 1] == pair[1]:
            out.append(new_id)
            i += 1
        elif i > 0 and ids[i - 1] == pair[0] and ids[i] == pair[1]:
            continue
        else:
            out.append(ids[i])
    return out

# %% train_bpe wrong (misconception within-words): cuts the text at spaces first, as GPT-2 does, so that no merge crosses a word
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """The first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    words = [list(w.encode()) for w in text.split(" ")]
    words = words[:1] + [[32] + w for w in words[1:]]
    merges = {}
    for k in range(n_merges):
        counts = {}
        for word in words:
            for pair, n in count_pairs(word).items():
                counts[pair] = counts.get(pair, 0) + n
        if not counts:
            break
        best = max(counts, key=counts.get)
        merges[best] = 256 + k
        words = [merge(word, best, 256 + k) for word in words]
    return merges

# %% generate wrong (misconception every-position): the guesses at all positions are appended, not only the one after the last
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """The texts, each continued greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        guesses = model(tokens).logits.argmax(dim=-1)
        tokens = torch.cat([tokens, guesses], dim=-1)
    return tokens[:, : tokens.shape[1]]

# %% generate wrong (misconception n_tokens-in-all): writes n_tokens until the text is n_tokens long in all
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """The texts, each continued greedily by n_tokens tokens."""
    while tokens.shape[1] < n_tokens:
        nxt = model(tokens).logits[:, -1].argmax(-1, keepdim=True)
        tokens = torch.cat((tokens, nxt), 1)
    return tokens

# %% sample wrong (misconception first-texts-cut): the k-th best of the first text is the threshold for all
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """For each row one token, drawn from its top_k most likely ones at this temperature."""
    logits = logits / temperature
    kth = torch.topk(logits, top_k).values[0, -1]
    logits = logits.masked_fill(logits < kth, -torch.inf)
    probs = torch.softmax(logits, dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]

# %% count_pairs right (passed): slow, each pair is looked for again in the whole list
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """How often each pair of neighbours occurs in ids, in the order in which the pairs are first met."""
    pairs = [*map(lambda a, b: (a, b), ids[:-1], ids[1:])]
    firsts = list(dict.fromkeys(pairs))
    return {p: sum(q == p for q in pairs) for p in firsts}

# %% merge right (passed): recursion, from the left
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """A new list in which new_id replaces the pair wherever it occurs in ids."""
    match ids:
        case [a, b, *rest] if (a, b) == tuple(pair):
            return [new_id] + merge(rest, pair, new_id)
        case [a, *rest]:
            return [a] + merge(rest, pair, new_id)
    return []

# %% sample right (passed): the top k alone are drawn from, and the place in them is looked up
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """For each row one token, drawn from its top_k most likely ones at this temperature."""
    values, ids = torch.topk(logits / temperature, min(top_k, logits.shape[-1]))
    drawn = torch.multinomial(values.softmax(-1), 1, generator=generator)
    return ids.gather(-1, drawn).flatten()
