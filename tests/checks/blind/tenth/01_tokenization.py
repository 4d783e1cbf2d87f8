# %% count_pairs wrong (misconception two-by-two): cuts the list into separate pairs, so every second pair of neighbours is missed
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for pair in zip(ids[::2], ids[1::2]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (misconception last-pair-missed): off by one, the last pair is not counted
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(len(ids) - 2):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (property first_met_first): subtle, the dict is ordered by count; shows when a later pair is more frequent
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    return dict(Counter(zip(ids, ids[1:])).most_common())


# %% count_pairs wrong (raised): subtle, starts from ids[0]; raises an IndexError for an empty list
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    left = ids[0]
    for right in ids[1:]:
        if (left, right) in counts:
            counts[left, right] += 1
        else:
            counts[left, right] = 1
        left = right
    return counts


# %% count_pairs right (passed): loop over positions with setdefault
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(1, len(ids)):
        pair = (ids[i - 1], ids[i])
        counts.setdefault(pair, 0)
        counts[pair] += 1
    return counts


# %% count_pairs right (passed): list of pairs, unique pairs in order with dict.fromkeys, then list.count
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    pairs = [(a, b) for a, b in zip(ids[:-1], ids[1:])]
    return {pair: pairs.count(pair) for pair in dict.fromkeys(pairs)}


# %% merge wrong (misconception second-left-behind): the second id of the pair is not skipped
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    for i in range(len(ids)):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            merged.append(new_id)
        else:
            merged.append(ids[i])
    return merged


# %% merge wrong (misconception last-lost): the last id is lost when it is not part of a merged pair
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged, i = [], 0
    while i < len(ids) - 1:
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


# %% merge wrong (misconception from-the-right): subtle, goes from the right; shows for an odd run of one id, such as 7, 7, 7 and the pair (7, 7)
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged, i = [], len(ids) - 1
    while i >= 0:
        if i > 0 and (ids[i - 1], ids[i]) == tuple(pair):
            merged.append(new_id)
            i -= 2
        else:
            merged.append(ids[i])
            i -= 1
    return merged[::-1]


# %% merge wrong (misconception changes-its-input): subtle, the result is right but the list ids is changed in place
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    i = 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == pair:
            ids[i : i + 2] = [new_id]
        i += 1
    return ids


# %% merge right (passed): for loop with a flag that says whether the current id was used
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged, used = [], False
    for left, right in zip(ids, [*ids[1:], None]):
        if used:
            used = False
        elif (left, right) == tuple(pair):
            merged.append(new_id)
            used = True
        else:
            merged.append(left)
    return merged


# %% merge right (passed): works on a copy, replaces slices in it
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = list(ids)
    i = 0
    while i + 1 < len(merged):
        if merged[i] == pair[0] and merged[i + 1] == pair[1]:
            merged[i : i + 2] = [new_id]
        i += 1
    return merged


# %% train_bpe wrong (misconception never-merged): the merged ids are not kept, so each round finds the same pair
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for i in range(n_merges):
        counts = count_pairs(ids)
        pair = max(counts, key=counts.get)
        merge(ids, pair, 256 + i)
        merges[pair] = 256 + i
    return merges


# %% train_bpe wrong (misconception ties-to-the-last): in a tie, the pair that occurs last wins
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = sorted(counts, key=counts.get)[-1]
        ids = merge(ids, pair, new_id)
        merges[pair] = new_id
    return merges


# %% train_bpe wrong (misconception characters-for-bytes): subtle, starts from code points instead of bytes; shows when the text is not plain ASCII
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = [ord(character) for character in text]
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        ids = merge(ids, pair, new_id)
        merges[pair] = new_id
    return merges


# %% train_bpe wrong (misconception only-what-repeats): subtle, stops when the winner occurs only once; shows for short texts or many merges
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


# %% train_bpe right (passed): while loop, ids numbered by the length of the dict
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode("utf-8"))
    merges = {}
    while len(merges) < n_merges and len(ids) > 1:
        counts = count_pairs(ids)
        winner = max(counts, key=counts.get)
        merges[winner] = 256 + len(merges)
        ids = merge(ids, winner, merges[winner])
    return merges


# %% train_bpe right (passed): recounts in a list of pairs itself and looks for the first of the best pairs
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = [byte for byte in text.encode()], {}
    for step in range(n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        most = max(counts.values())
        pair = next(p for p, count in counts.items() if count == most)
        merges[pair] = 256 + step
        ids = merge(ids, pair, 256 + step)
    return merges


# %% to_str_tokens wrong (difference): cuts the text at spaces and does not use the tokens
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return text.split(" ")


# %% to_str_tokens wrong (misconception spaces-stripped): strips the space that belongs to each token
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode([i]).strip() for i in tokenizer.encode(text)]


# %% to_str_tokens wrong (misconception only-the-space-translated): subtle, takes the names in the vocabulary and replaces only the space's sign; shows for newlines, é and 👋
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    names = {i: name for name, i in tokenizer.get_vocab().items()}
    return [names[i].replace("Ġ", " ") for i in tokenizer.encode(text)]


# %% to_str_tokens wrong (misconception new-text-of-longer-beginnings): subtle, takes what each token adds to the text so far; shows when a character is cut into several tokens
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces, so_far = [], ""
    for end in range(1, len(ids) + 1):
        longer = tokenizer.decode(ids[:end])
        pieces.append(longer[len(so_far) :])
        so_far = longer
    return pieces


# %% to_str_tokens right (passed): decodes one id at a time
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i) for i in tokenizer.encode(text)]


# %% to_str_tokens right (passed): loop, decodes lists with one id
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces = []
    for place in range(len(ids)):
        pieces.append(tokenizer.decode(ids[place : place + 1]))
    return pieces


# %% next_token_probs wrong (misconception every-position): returns probabilities for every position instead of the last one
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits.softmax(dim=-1)


# %% next_token_probs wrong (misconception over-positions): the softmax runs over the positions instead of the vocabulary
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits.softmax(dim=1)[:, -1]


# %% next_token_probs wrong (misconception one-sum-for-all): subtle, one softmax over all texts together; shows when the batch has more than one text
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1]
    return torch.softmax(last.flatten(), dim=0).view_as(last)


# %% next_token_probs wrong (difference constant): subtle, gives every text the row of the first text; shows when the batch has different texts
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    probs = torch.softmax(logits[0, -1], dim=-1)
    return probs.repeat(logits.shape[0], 1)


# %% next_token_probs right (passed): softmax at every position, then the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return torch.softmax(logits, dim=2).select(1, logits.shape[1] - 1)


# %% next_token_probs right (passed): text by text, with the maximum subtracted before exp
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    rows = []
    for text_logits in logits:
        powers = (text_logits[-1] - text_logits[-1].max()).exp()
        rows.append(powers / powers.sum())
    return torch.stack(rows)


# %% generate wrong (misconception only-the-new): returns only the new tokens, without the text
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    new = []
    for _ in range(n_tokens):
        best = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        new.append(best)
        tokens = torch.cat([tokens, best], dim=1)
    return torch.cat(new, dim=1)


# %% generate wrong (misconception only-the-newest): the model reads only the newest token from the second round on
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    longer, read = tokens, tokens
    for _ in range(n_tokens):
        read = model(read).logits[:, -1].argmax(dim=-1, keepdim=True)
        longer = torch.cat([longer, read], dim=1)
    return longer


# %% generate wrong (misconception stops-at-the-end): subtle, stops when all texts have reached <|endoftext|>; shows when the model writes this token
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        best = model(tokens).logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, best[:, None]], dim=1)
        if (best == 50256).all():
            break
    return tokens


# %% generate wrong (misconception first-text-only): subtle, appends the first text's token to every text; shows for batches of different texts
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        best = model(tokens).logits[0, -1].argmax()
        tokens = torch.cat([tokens, best.expand(len(tokens), 1)], dim=1)
    return tokens


# %% generate right (passed): loop with topk and hstack
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    with torch.no_grad():
        for _ in range(n_tokens):
            best = model(tokens).logits[:, -1, :].topk(1, dim=-1).indices
            tokens = torch.hstack((tokens, best))
    return tokens


# %% generate right (passed): fills a table that is made at the start
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    batch, seq = tokens.shape
    longer = tokens.new_zeros(batch, seq + n_tokens)
    longer[:, :seq] = tokens
    for end in range(seq, seq + n_tokens):
        logits = model(longer[:, :end].clone()).logits
        longer[:, end] = logits.argmax(dim=-1)[:, -1]
    return longer


# %% sample wrong (misconception temperature-upside-down): multiplies by the temperature instead of dividing
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits * temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = logits.topk(top_k, dim=-1).values[:, -1:]
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
    best = logits.topk(top_k, dim=-1).values

    # Sampling: make probabilities, and sample one token for each row.
    return torch.multinomial(best.softmax(dim=-1), 1, generator=generator).squeeze(1)


# %% sample wrong (property draws_from_its_generator): subtle, sets the generator back to its seed; shows from the second call on
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = logits.topk(top_k, dim=-1).values[:, -1:]
    logits = logits.masked_fill(logits < kth, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    generator.manual_seed(generator.initial_seed())
    return torch.multinomial(logits.softmax(dim=-1), 1, generator=generator)[:, 0]


# %% sample wrong (difference): subtle, the k-th best logit of the first row is used for every row; shows for batches of different rows
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = logits.topk(top_k, dim=-1).values[0, -1]
    logits = torch.where(logits < kth, -torch.inf, logits)
    logits = torch.where(logits.isinf().all(dim=-1, keepdim=True), 0.0, logits)

    # Sampling: make probabilities, and sample one token for each row.
    return torch.multinomial(logits.softmax(dim=-1), 1, generator=generator)[:, 0]


# %% sample right (passed): sorts each row for the k-th best logit, where, multinomial
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    ordered = scaled.sort(dim=-1, descending=True).values
    worst_allowed = ordered[:, min(top_k, ordered.shape[-1]) - 1].unsqueeze(1)
    scaled = torch.where(scaled >= worst_allowed, scaled, torch.full_like(scaled, -torch.inf))

    # Sampling: make probabilities, and sample one token for each row.
    probs = torch.softmax(scaled, dim=-1)
    return torch.multinomial(probs, num_samples=1, generator=generator).squeeze(-1)


# %% sample right (passed): inverts the cumulative probabilities with one uniform number per row from the generator
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(min(top_k, scaled.shape[-1]), dim=-1).values.amin(dim=-1, keepdim=True)
    scaled = scaled.masked_fill(scaled < kth, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    reached = scaled.softmax(dim=-1).double().cumsum(dim=-1)
    u = torch.rand(len(scaled), 1, dtype=torch.float64, device=generator.device, generator=generator)
    return torch.searchsorted(reached, u.to(reached.device) * reached[:, -1:], right=True)[:, 0]
