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


# %% count_pairs wrong (property starts_anew): remembers results and gives out the same dict again, so a caller's change to it shows in later answers
from functools import lru_cache


@lru_cache(maxsize=None)
def _counted(ids):
    counts = {}
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    return _counted(tuple(ids))


# %% train_bpe wrong (property most_frequent_first): tests the number of merges only after a merge, so 0 merges give one merge
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode()), {}
    while True:
        counts = count_pairs(ids)
        if not counts:
            return merges
        pair = max(counts, key=counts.get)
        merges[pair] = 256 + len(merges)
        ids = merge(ids, pair, merges[pair])
        if len(merges) >= n_merges:
            return merges


# %% train_bpe wrong (property most_frequent_first): composes accents first (NFC), so an e with a separate accent has other bytes
import unicodedata


def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(unicodedata.normalize("NFC", text).encode()), {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        merges[pair] = new_id
        ids = merge(ids, pair, new_id)
    return merges


# %% train_bpe wrong (property most_frequent_first): stops when two ids are left, so the last merge into a single id is missing
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode()), {}
    while len(merges) < n_merges and len(ids) > 2:
        counts = count_pairs(ids)
        pair = max(counts, key=counts.get)
        merges[pair] = 256 + len(merges)
        ids = merge(ids, pair, merges[pair])
    return merges


# %% to_str_tokens wrong (property sizes): cuts long texts after 1024 tokens, the context of GPT-2
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i) for i in tokenizer.encode(text)[:1024]]


# %% next_token_probs wrong (property zeros): takes positions with only zeros for padding, so a last position with equal logits 0 is passed over
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    used = (logits != 0).any(dim=-1)
    places = torch.arange(logits.shape[1], device=logits.device)
    last = torch.where(used, places, 0).amax(dim=1)
    return logits[torch.arange(len(logits)), last].softmax(dim=-1)
