# %% count_pairs wrong (misconception last-pair-missed): the loop ends one pair too early
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(len(ids) - 2):
        pair = ids[i], ids[i + 1]
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (misconception two-by-two): cuts the ids into separate pairs, so that every second pair is missing
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for pair in zip(ids[::2], ids[1::2]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (property first_met_first): pop and put back, so the order is that of the last occurrence; shows when a pair occurs again after another pair
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.pop(pair, 0) + 1
    return counts


# %% count_pairs right (passed): the keys first, all zero, then a second pass that counts
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    pairs = [(ids[i - 1], ids[i]) for i in range(1, len(ids))]
    counts = dict.fromkeys(pairs, 0)
    for pair in pairs:
        counts[pair] += 1
    return counts


# %% merge wrong (misconception second-left-behind): puts in the new id but does not skip the second id of the pair
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    for i, token in enumerate(ids):
        if i + 1 < len(ids) and (token, ids[i + 1]) == pair:
            merged.append(new_id)
        else:
            merged.append(token)
    return merged


# %% merge wrong (misconception as-a-string): replaces in the printed list; shows when the digits of the pair begin or end inside longer numbers, such as (4, 10) in 104, 101
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    written = ",".join(str(token) for token in ids)
    written = written.replace(f"{pair[0]},{pair[1]}", str(new_id))
    return [int(number) for number in written.split(",") if number]


# %% merge wrong (property spells_the_same): after a first half without its second half, it steps over both ids; shows for left, left, right
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged, rest = [], iter(ids)
    for token in rest:
        if token == pair[0]:
            following = next(rest, None)
            if following == pair[1]:
                merged.append(new_id)
            else:
                merged += [token] if following is None else [token, following]
        else:
            merged.append(token)
    return merged


# %% merge right (passed): takes ids off the front of a reversed copy
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    todo, merged = list(reversed(ids)), []
    while todo:
        token = todo.pop()
        if todo and token == pair[0] and todo[-1] == pair[1]:
            todo.pop()
            token = new_id
        merged.append(token)
    return merged


# %% train_bpe wrong (misconception never-merged): throws the merged list away, so it finds the same winner every time
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for step in range(n_merges):
        counts = count_pairs(ids)
        winner = max(counts, key=counts.get)
        merges[winner] = 256 + step
        merge(ids, winner, 256 + step)
    return merges


# %% train_bpe wrong (misconception ids-one-late): the first merge gets the id 257
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges, new_id = list(text.encode()), {}, 256
    while len(merges) < n_merges:
        counts = count_pairs(ids)
        winner = max(counts, key=counts.get)
        new_id += 1
        ids = merge(ids, winner, new_id)
        merges[winner] = new_id
    return merges


# %% train_bpe wrong (property most_frequent_first): counts runs of equal ids without overlaps, because overlapping pairs cannot both be merged; shows when a byte occurs three times in a row
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode()), {}
    for new_id in range(256, 256 + n_merges):
        counts, just_counted = {}, None
        for pair in zip(ids, ids[1:]):
            if pair == just_counted:
                just_counted = None
                continue
            counts[pair] = counts.get(pair, 0) + 1
            just_counted = pair
        winner = max(counts, key=counts.get)
        merges[winner] = new_id
        ids = merge(ids, winner, new_id)
    return merges


# %% train_bpe right (passed): counts and merges with its own loops, and looks for the first pair with the highest count
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = [byte for byte in text.encode("utf-8")], {}
    for _ in range(n_merges):
        pairs = list(zip(ids[:-1], ids[1:]))
        counts = {}
        for pair in pairs:
            counts[pair] = counts.get(pair, 0) + 1
        most = max(counts.values())
        winner = next(pair for pair in pairs if counts[pair] == most)
        new_id = 256 + len(merges)
        merges[winner] = new_id
        i, shorter = 0, []
        while i < len(ids):
            if tuple(ids[i : i + 2]) == winner:
                shorter.append(new_id)
                i += 2
            else:
                shorter.append(ids[i])
                i += 1
        ids = shorter
    return merges


# %% to_str_tokens wrong (misconception as-stored): the names of the tokens, with a Ġ for each space
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return tokenizer.convert_ids_to_tokens(tokenizer.encode(text))


# %% to_str_tokens wrong (misconception new-text-of-longer-beginnings): cuts what each token adds to the decoded text so far; shows when a character is split over tokens
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids, pieces = tokenizer.encode(text), []
    for n in range(len(ids)):
        pieces.append(tokenizer.decode(ids[: n + 1])[len(tokenizer.decode(ids[:n])) :])
    return pieces


# %% to_str_tokens wrong (misconception special-dropped): leaves out special tokens when it decodes; shows when the text contains <|endoftext|>
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode([i], skip_special_tokens=True) for i in tokenizer.encode(text)]


# %% to_str_tokens right (passed): decodes a list of one id at a time, in a loop
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces = []
    for start in range(len(ids)):
        pieces.append(tokenizer.decode(ids[start : start + 1]))
    return pieces


# %% next_token_probs wrong (misconception over-the-batch): the softmax runs over the texts of the batch
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits[:, -1].softmax(dim=0)


# %% next_token_probs wrong (misconception mean-of-the-guesses): the mean of the probabilities at all positions
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits.softmax(dim=-1).mean(dim=1)


# %% next_token_probs wrong (difference places): the last rows of the flattened table instead of the last row of each text; shows with two or more texts
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    batch, seq, vocab = logits.shape
    return logits.reshape(batch * seq, vocab)[-batch:].softmax(dim=-1)


# %% next_token_probs right (passed): subtracts the maximum, exp, divides by the sum
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits.select(1, logits.shape[1] - 1)
    powers = torch.exp(last - last.max(dim=1, keepdim=True).values)
    return torch.einsum("bv,b->bv", powers, 1 / powers.sum(dim=1))


# %% generate wrong (misconception only-the-new): returns only the new tokens
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    new = []
    for _ in range(n_tokens):
        following = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, following], dim=1)
        new.append(following)
    return torch.cat(new, dim=1)


# %% generate wrong (property sizes): the model reads only the last 32 tokens; shows with longer texts
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        logits = model(tokens[:, -32:]).logits
        tokens = torch.cat([tokens, logits[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
    return tokens


# %% generate wrong (difference): takes the largest probability of a hand-written softmax, which becomes nan if all logits are below -110
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        powers = model(tokens).logits[:, -1].exp()
        probs = powers / powers.sum(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, probs.argmax(dim=-1)[:, None]], dim=1)
    return tokens


# %% generate right (passed): fills a longer table column by column
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    batch, seq = tokens.shape
    longer = tokens.new_empty(batch, seq + n_tokens)
    longer[:, :seq] = tokens
    with torch.no_grad():
        for end in range(seq, seq + n_tokens):
            longer[:, end] = torch.max(model(longer[:, :end]).logits[:, end - 1, :], dim=1).indices
    return longer


# %% sample wrong (misconception temperature-upside-down): multiplies by the temperature
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits * temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    worst = logits.topk(top_k, dim=-1).values[:, -1:]
    logits = logits.masked_fill(logits < worst, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    return torch.multinomial(logits.softmax(dim=-1), 1, generator=generator)[:, 0]


# %% sample wrong (misconception place-not-token): returns the place in the top k instead of the token
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    best = logits.topk(top_k, dim=-1).values

    # Sampling: make probabilities, and sample one token for each row.
    return torch.multinomial(best.softmax(dim=-1), 1, generator=generator).squeeze(1)


# %% sample wrong (property draws_from_its_generator): one random number serves all rows, so they are not independent; shows with two or more texts
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    worst = logits.topk(top_k, dim=-1).values[:, -1:]
    logits = logits.masked_fill(logits < worst, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    up_to = logits.softmax(dim=-1).cumsum(dim=-1)
    number = torch.rand(1, generator=generator)
    return (up_to <= number * up_to[:, -1:]).sum(dim=-1)


# %% sample right (passed): sorts each row to find the cutoff, one row at a time
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    cooled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    cutoff = cooled.sort(dim=-1, descending=True).values[:, top_k - 1]
    cooled = torch.where(cooled >= cutoff.unsqueeze(1), cooled, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    chosen = [torch.multinomial(torch.softmax(row, dim=0), 1, generator=generator) for row in cooled]
    return torch.cat(chosen)


# %% sample right (passed): divides the probabilities by exponential random numbers and takes the largest, which samples from the probabilities
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    worst = logits.topk(top_k, dim=-1).values.amin(dim=-1, keepdim=True)
    logits = logits.masked_fill(logits < worst, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    probs = logits.softmax(dim=-1)
    waiting = torch.empty_like(probs).exponential_(generator=generator)
    return (probs / waiting).argmax(dim=-1)
