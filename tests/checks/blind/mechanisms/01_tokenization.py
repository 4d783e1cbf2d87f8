# %% count_pairs wrong (property as_many_as_neighbours): skips pairs with id 0
def count_pairs(ids):
    counts = {}
    for p in zip(ids, ids[1:]):
        if not all(p):
            continue
        counts[p] = counts.get(p, 0) + 1
    return counts


# %% merge wrong (property spells_the_same): compares a packed number, collides for ids of 256 and more
def merge(ids, pair, new_id):
    out, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and ids[i] * 256 + ids[i + 1] == pair[0] * 256 + pair[1]:
            out.append(new_id)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


# %% train_bpe wrong (property texts): lowercases
def train_bpe(text, n_merges):
    ids = list(text.lower().encode("utf-8"))
    merges = {}
    for i in range(n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        merges[pair] = 256 + i
        ids = merge(ids, pair, 256 + i)
    return merges


# %% to_str_tokens wrong (property texts): leaves out id 0
def to_str_tokens(text, tokenizer):
    return [tokenizer.decode([i]) for i in tokenizer.encode(text) if i]


# %% sample wrong (property numbers): at temperature 1 it ignores top_k
def sample(logits, temperature, top_k, generator):
    logits = logits / temperature
    if temperature == 1:
        return torch.multinomial(torch.softmax(logits, -1), 1, generator=generator).squeeze(1)
    kth = logits.topk(top_k, dim=-1).values[:, -1:]
    logits = logits.masked_fill(logits < kth, -torch.inf)
    probs = torch.softmax(logits, dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


# %% sample wrong (property draws_from_its_generator): one row of Gumbel noise serves all rows
def sample(logits, temperature, top_k, generator):
    logits = logits / temperature
    worst = logits.topk(top_k, dim=-1).values[:, -1:]
    logits = logits.masked_fill(logits < worst, -torch.inf)
    noise = -torch.log(-torch.log(torch.rand(logits.shape[-1], generator=generator)))
    return (logits + noise).argmax(dim=-1)
