# %% count_pairs wrong (misconception two-by-two): goes in steps of two, so overlapping pairs are not counted
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for pair in zip(ids[::2], ids[1::2]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (misconception starts-at-zero): the first occurrence of a pair counts as 0, so every count is one too small
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(len(ids) - 1):
        pair = (ids[i], ids[i + 1])
        if pair in counts:
            counts[pair] += 1
        else:
            counts[pair] = 0
    return counts


# %% count_pairs wrong (property first_met_first): subtle, the dict is sorted by count, so the order is not that of first occurrence if a later pair is more frequent
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    return dict(Counter(zip(ids, ids[1:])).most_common())


# %% count_pairs wrong (property as_many_as_neighbours): subtle, packs a pair into one number with base 256, which mixes up pairs as soon as the right id is 256 or more
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    codes = {}
    for left, right in zip(ids, ids[1:]):
        code = left * 256 + right
        codes[code] = codes.get(code, 0) + 1
    return {divmod(code, 256): n for code, n in codes.items()}


# %% count_pairs right (passed): index loop with dict.get
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(len(ids) - 1):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs right (passed): list of pairs, unique pairs in order by dict.fromkeys, then list.count
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    pairs = list(zip(ids[:-1], ids[1:]))
    return {pair: pairs.count(pair) for pair in dict.fromkeys(pairs)}


# %% merge wrong (misconception second-left-behind): moves on by one after a merge, so the right id of the pair stays in the list
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    for i in range(len(ids)):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            merged.append(new_id)
        else:
            merged.append(ids[i])
    return merged


# %% merge wrong (misconception last-lost): the loop ends before the last id, so a last id that is not merged is lost
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged, i = [], 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == pair:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


# %% merge wrong (misconception from-the-right): subtle, goes from the right, which differs for a pair of equal ids in a run of odd length
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = list(ids)
    i = len(merged) - 2
    while i >= 0:
        if (merged[i], merged[i + 1]) == pair:
            merged[i : i + 2] = [new_id]
            i -= 1
        i -= 1
    return merged


# %% merge wrong (property spells_the_same): subtle, marks ids to drop with 0, so a real id 0 in the list is dropped too
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = list(ids)
    for i in range(len(merged) - 1):
        if (merged[i], merged[i + 1]) == pair:
            merged[i], merged[i + 1] = new_id, 0
    return [i for i in merged if i]


# %% merge right (passed): while loop that builds a new list
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and ids[i] == pair[0] and ids[i + 1] == pair[1]:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


# %% merge right (passed): for loop over neighbours with a flag that skips the second id of a merged pair
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    left, right = pair
    merged, skip = [], False
    for this, following in zip(ids, [*ids[1:], None]):
        if skip:
            skip = False
        elif this == left and following == right:
            merged.append(new_id)
            skip = True
        else:
            merged.append(this)
    return merged


# %% train_bpe wrong (misconception counted-once): counts only once, and takes the n most frequent pairs of bytes
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    counts = count_pairs(ids)
    merges = {}
    for i in range(n_merges):
        pair = max(counts, key=counts.get)
        merges[pair] = 256 + i
        ids = merge(ids, pair, 256 + i)
        del counts[pair]
    return merges


# %% train_bpe wrong (misconception never-merged): throws away the result of merge, so the same pair wins every time
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        pair = max(counts, key=counts.get)
        merge(ids, pair, new_id)
        merges[pair] = new_id
    return merges


# %% train_bpe wrong (misconception characters-for-bytes): subtle, starts from the code points of the characters, which are not the bytes if a character is not ASCII
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = [ord(character) for character in text]
    merges = {}
    while len(merges) < n_merges and len(ids) > 1:
        counts = count_pairs(ids)
        pair = max(counts, key=counts.get)
        merges[pair] = 256 + len(merges)
        ids = merge(ids, pair, merges[pair])
    return merges


# %% train_bpe wrong (misconception only-what-repeats): subtle, stops when the winner occurs only once, so it returns fewer merges than asked for
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        if counts[pair] < 2:
            break
        ids = merge(ids, pair, new_id)
        merges[pair] = new_id
    return merges


# %% train_bpe right (passed): for loop with count_pairs and merge, stops when no pair is left
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        ids = merge(ids, pair, new_id)
        merges[pair] = new_id
    return merges


# %% train_bpe right (passed): while loop from the utf-8 bytes, with the winner found by a loop with a strict comparison
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    merges, ids = {}, [byte for byte in text.encode("utf-8")]
    while len(merges) < n_merges:
        winner, most = None, 0
        for pair, count in count_pairs(ids).items():
            if count > most:
                winner, most = pair, count
        if winner is None:
            return merges
        merges[winner] = 256 + len(merges)
        ids = merge(ids, winner, merges[winner])
    return merges


# %% to_str_tokens wrong (difference): splits the text at spaces instead of using the tokenizer
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    words = text.split(" ")
    return words[:1] + [" " + word for word in words[1:]]


# %% to_str_tokens wrong (misconception characters): decodes all ids together, and returns the letters of the whole text
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    return list(tokenizer.decode(ids))


# %% to_str_tokens wrong (difference prefix): subtle, slices the text by the length of each decoded token, which shifts when a character is split over several tokens (emoji)
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    pieces, start = [], 0
    for i in tokenizer.encode(text):
        end = start + len(tokenizer.decode(i))
        pieces.append(text[start:end])
        start = end
    return pieces


# %% to_str_tokens wrong (misconception each-token-once): subtle, remembers the pieces in a dict by id, so a token that occurs twice is listed only once
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    pieces = {i: tokenizer.decode(i) for i in tokenizer.encode(text)}
    return list(pieces.values())


# %% to_str_tokens right (passed): list comprehension, one id at a time
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i) for i in tokenizer.encode(text)]


# %% to_str_tokens right (passed): loop, decodes lists of one id
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces = []
    for position in range(len(ids)):
        pieces.append(tokenizer.decode(ids[position : position + 1]))
    return pieces


# %% next_token_probs wrong (misconception over-positions): softmax along the positions instead of the vocabulary
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits.softmax(dim=1)[:, -1]


# %% next_token_probs wrong (misconception last-text): takes the last text of the batch instead of the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits[-1].softmax(dim=-1)


# %% next_token_probs wrong (misconception one-sum-for-all): subtle, one softmax over all texts together, so with more than one text the rows do not sum to one
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1]
    return last.flatten().softmax(dim=0).view(last.shape)


# %% next_token_probs wrong (property leaves_its_inputs): subtle, works in place on a view, so the caller's logits change and a second call gives other probabilities
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1, :]
    last -= last.max(dim=-1, keepdim=True).values
    powers = last.exp()
    return powers / powers.sum(dim=-1, keepdim=True)


# %% next_token_probs right (passed): last position first, then softmax over the vocabulary
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return torch.softmax(logits[:, -1, :], dim=-1)


# %% next_token_probs right (passed): log_softmax at every position, then exp, then select the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    probs = torch.log_softmax(logits, dim=2).exp()
    return probs.select(1, logits.shape[1] - 1)


# %% generate wrong (misconception no-feedback): computes the logits once before the loop, so the same token is appended again and again
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    logits = model(tokens).logits
    new = logits[:, -1].argmax(dim=-1, keepdim=True)
    for _ in range(n_tokens):
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate wrong (misconception only-the-new): returns only the new tokens, without the text before them
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    written = []
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        written.append(new)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
    return torch.stack(written, dim=1)


# %% generate wrong (misconception only-the-newest): subtle, after the first round the model reads only the newest token, which shows when n_tokens is more than 1
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    read = tokens
    for _ in range(n_tokens):
        new = model(read).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
        read = new
    return tokens


# %% generate wrong (misconception first-text-only): subtle, appends the first text's token to every text, which shows with more than one text
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        best = model(tokens).logits[0, -1].argmax()
        tokens = torch.cat([tokens, best.expand(len(tokens), 1)], dim=1)
    return tokens


# %% generate right (passed): loop with argmax and cat
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, new.unsqueeze(1)], dim=1)
    return tokens


# %% generate right (passed): fills a table of the final size, one column in each round
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    batch, seq = tokens.shape
    result = tokens.new_empty(batch, seq + n_tokens)
    result[:, :seq] = tokens
    with torch.no_grad():
        for end in range(seq, seq + n_tokens):
            result[:, end] = model(result[:, :end].clone()).logits[:, -1, :].argmax(dim=-1)
    return result


# %% sample wrong (misconception temperature-upside-down): multiplies by the temperature instead of dividing
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits * temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[:, -1:]
    logits = logits.masked_fill(logits < kth, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    probs = logits.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% sample wrong (misconception place-not-token): returns the place among the top k instead of the token's id
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    best = logits.topk(min(top_k, logits.shape[-1]), dim=-1)

    # Sampling: make probabilities, and sample one token for each row.
    probs = best.values.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


# %% sample wrong (property draws_from_its_generator): subtle, one random number for all rows, so the rows are not independent (equal rows always get the same token)
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[:, -1:]
    logits = logits.masked_fill(logits < kth, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    cumulative = logits.softmax(dim=-1).cumsum(dim=-1)
    draw = torch.rand(1, generator=generator) * cumulative[:, -1:]
    return (cumulative <= draw).sum(dim=-1)


# %% sample wrong (difference): subtle, the smallest k-th best logit of the batch is the limit for all rows, so with several rows some keep more than k tokens
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    limit = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values.min()
    logits = logits.masked_fill(logits < limit, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    probs = logits.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% sample right (passed): masked_fill below the k-th best logit, then multinomial
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(min(top_k, scaled.shape[-1]), dim=-1).values[:, -1:]
    scaled = scaled.masked_fill(scaled < kth, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    return torch.multinomial(scaled.softmax(dim=-1), 1, generator=generator).squeeze(1)


# %% sample right (passed): sorted logits and torch.where, then a race of exponential random numbers from the generator
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits.div(temperature)

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    k = min(top_k, scaled.shape[1])
    limit = scaled.sort(dim=1, descending=True).values[:, k - 1].unsqueeze(1)
    scaled = torch.where(scaled >= limit, scaled, torch.full_like(scaled, float("-inf")))

    # Sampling: make probabilities, and sample one token for each row.
    probs = torch.softmax(scaled, dim=1)
    waits = torch.empty_like(probs).exponential_(generator=generator)
    return (probs / waits).argmax(dim=1)


