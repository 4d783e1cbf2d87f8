# %% count_pairs wrong (misconception last-pair-missed): the range ends one too early, so the last pair is never counted
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(len(ids) - 2):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (misconception two-by-two): cuts the ids into pairs that do not overlap, so every second pair is missing
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for pair in zip(ids[::2], ids[1::2]):
        if pair not in counts:
            counts[pair] = 0
        counts[pair] += 1
    return counts


# %% count_pairs wrong (property first_met_first): the counts are right, but the dict is sorted by count instead of by first occurrence
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    return dict(Counter(zip(ids, ids[1:])).most_common())


# %% count_pairs wrong (property starts_anew): the dict is a default argument, so a second call adds to the counts of the first
def count_pairs(ids: list[int], counts={}) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    for left, right in zip(ids, ids[1:]):
        counts[left, right] = counts.get((left, right), 0) + 1
    return counts


# %% count_pairs wrong (property as_many_as_neighbours): stores a pair as one number left * 256 + right, which mixes pairs up when ids are 256 or more
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for left, right in zip(ids[:-1], ids[1:]):
        code = left * 256 + right
        counts[code] = counts.get(code, 0) + 1
    return {(code // 256, code % 256): n for code, n in counts.items()}


# %% count_pairs right (passed): a loop over the indices, with a test whether the pair is known
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(1, len(ids)):
        pair = (ids[i - 1], ids[i])
        if pair in counts:
            counts[pair] += 1
        else:
            counts[pair] = 1
    return counts


# %% count_pairs right (passed): dict.fromkeys fixes the order, list.count counts
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    pairs = list(zip(ids, ids[1:]))
    return {pair: pairs.count(pair) for pair in dict.fromkeys(pairs)}


# %% merge wrong (misconception second-left-behind): does not skip the second id of the pair, so it stays in the list after the new id
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    for i in range(len(ids)):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            merged.append(new_id)
        else:
            merged.append(ids[i])
    return merged


# %% merge wrong (misconception list-against-tuple): compares a slice, which is a list, with the pair, which is a tuple, so nothing is ever merged
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged, i = [], 0
    while i < len(ids):
        if ids[i : i + 2] == pair:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


# %% merge wrong (misconception from-the-right): goes from the right, which shows when a pair of equal ids occurs an odd number of times in a row
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    i = len(ids) - 1
    while i >= 0:
        if i > 0 and ids[i - 1] == pair[0] and ids[i] == pair[1]:
            merged.insert(0, new_id)
            i -= 2
        else:
            merged.insert(0, ids[i])
            i -= 1
    return merged


# %% merge wrong (misconception changes-its-input): replaces inside the given list, so the caller's ids change
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = ids
    i = 0
    while i < len(merged) - 1:
        if merged[i] == pair[0] and merged[i + 1] == pair[1]:
            merged[i : i + 2] = [new_id]
        i += 1
    return merged


# %% merge wrong (misconception as-a-string): replaces in a text of the numbers, so the pair (1, 2) is also found in "11 2" or "1 25"
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    text = " ".join(str(i) for i in ids)
    text = text.replace(f"{pair[0]} {pair[1]}", str(new_id))
    return [int(number) for number in text.split()]


# %% merge right (passed): a while loop that jumps over both ids of the pair
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    left, right = pair
    merged = []
    i = 0
    while i < len(ids):
        if i < len(ids) - 1 and ids[i] == left and ids[i + 1] == right:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


# %% merge right (passed): a for loop with a flag that says whether the current id is already used up
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged, used = [], False
    for current, following in zip(ids, [*ids[1:], None]):
        if used:
            used = False
        elif following is not None and (current, following) == tuple(pair):
            merged.append(new_id)
            used = True
        else:
            merged.append(current)
    return merged


# %% train_bpe wrong (misconception counted-once): counts only once, at the start, and takes the n_merges most frequent pairs of bytes
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    counts = count_pairs(list(text.encode()))
    winners = sorted(counts, key=counts.get, reverse=True)[:n_merges]
    return {pair: 256 + i for i, pair in enumerate(winners)}


# %% train_bpe wrong (misconception ties-to-the-largest): in a tie the pair with the larger numbers wins instead of the one that occurs first
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode()), {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        _, pair = max((count, pair) for pair, count in counts.items())
        merges[pair] = new_id
        ids = merge(ids, pair, new_id)
    return merges


# %% train_bpe wrong (misconception characters-for-bytes): starts from the code points of the characters instead of the UTF-8 bytes, which shows with é or an emoji
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = [ord(character) for character in text]
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        merges[pair] = new_id
        ids = merge(ids, pair, new_id)
    return merges


# %% train_bpe wrong (misconception only-what-repeats): stops as soon as the winner occurs only once, which shows with a short text and many merges
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode()), {}
    while len(merges) < n_merges:
        counts = count_pairs(ids)
        if not counts or max(counts.values()) < 2:
            break
        pair = max(counts, key=counts.get)
        new_id = 256 + len(merges)
        merges[pair] = new_id
        ids = merge(ids, pair, new_id)
    return merges


# %% train_bpe wrong (property most_frequent_first): counts by itself and skips overlapping pairs in a run such as "aaaa", which can change the winner
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode()), {}
    for new_id in range(256, 256 + n_merges):
        counts, last_place = {}, {}
        for i in range(len(ids) - 1):
            pair = (ids[i], ids[i + 1])
            if last_place.get(pair) == i - 1:
                continue  # overlaps with the pair just counted
            counts[pair] = counts.get(pair, 0) + 1
            last_place[pair] = i
        if not counts:
            break
        winner = max(counts, key=counts.get)
        merges[winner] = new_id
        ids = merge(ids, winner, new_id)
    return merges


# %% train_bpe right (passed): count_pairs, max and merge in a loop
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode("utf-8"))
    merges = {}
    for i in range(n_merges):
        counts = count_pairs(ids)
        if len(counts) == 0:
            break
        winner = max(counts, key=counts.get)
        merges[winner] = 256 + i
        ids = merge(ids, winner, 256 + i)
    return merges


# %% train_bpe right (passed): counts and merges by itself; a stable sort finds the winner
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    from collections import Counter

    ids, merges = [*text.encode()], {}
    while len(merges) < n_merges and len(ids) > 1:
        # sorted is stable: among equal counts, the pair that occurs first stays first
        winner = sorted(Counter(zip(ids, ids[1:])).items(), key=lambda entry: -entry[1])[0][0]
        new_id = 256 + len(merges)
        merges[winner] = new_id
        rest, ids = ids[::-1], []
        while rest:
            first = rest.pop()
            if rest and (first, rest[-1]) == winner:
                rest.pop()
                first = new_id
            ids.append(first)
    return merges


# %% to_str_tokens wrong (misconception as-stored): returns the vocabulary's spelling, with Ġ for a space
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return tokenizer.tokenize(text)


# %% to_str_tokens wrong (misconception spaces-stripped): strips the spaces, which belong to the tokens
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i).strip() for i in tokenizer.encode(text)]


# %% to_str_tokens wrong (misconception special-dropped): skips special tokens, so <|endoftext|> is shown as an empty string
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode([i], skip_special_tokens=True) for i in tokenizer.encode(text)]


# %% to_str_tokens wrong (misconception new-text-of-longer-beginnings): decodes longer and longer beginnings and takes what is new, which shows when a character is spread over several tokens
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces, so_far = [], ""
    for n in range(1, len(ids) + 1):
        longer = tokenizer.decode(ids[:n])
        pieces.append(longer[len(so_far):])
        so_far = longer
    return pieces


# %% to_str_tokens wrong (misconception each-token-once): goes through a dict from id to text, so a token that occurs twice is listed once
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    pieces = {i: tokenizer.decode(i) for i in tokenizer.encode(text)}
    return list(pieces.values())


# %% to_str_tokens right (passed): a loop that decodes lists of one id
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    pieces = []
    for token_id in tokenizer.encode(text):
        pieces.append(tokenizer.decode([token_id]))
    return pieces


# %% to_str_tokens right (passed): map over the ids
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return list(map(tokenizer.decode, tokenizer.encode(text)))


# %% next_token_probs wrong (misconception over-positions): the softmax runs along the positions instead of the vocabulary
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits.softmax(dim=1)[:, -1]


# %% next_token_probs wrong (misconception last-but-one): takes the last position but one, because position j scores token j + 1
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return torch.softmax(logits[:, -2, :], dim=-1)


# %% next_token_probs wrong (misconception one-sum-for-all): divides by the sum over all texts of the batch, which shows with two texts
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1]
    powers = (last - last.max()).exp()
    return powers / powers.sum()


# %% next_token_probs wrong (misconception one-maximum-for-all): subtracts the largest logit of the whole batch, so a text whose logits are much lower gets 0 / 0
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1, :]
    powers = torch.exp(last - last.max())
    return powers / powers.sum(dim=-1, keepdim=True)


# %% next_token_probs wrong (property leaves_its_inputs): works in place on a view, so it overwrites the caller's logits and a second call gives other numbers
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1]
    last -= last.max(dim=-1, keepdim=True).values
    last.exp_()
    last /= last.sum(dim=-1, keepdim=True)
    return last


# %% next_token_probs right (passed): log_softmax of the last position, then exp
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return torch.log_softmax(logits.select(1, logits.shape[1] - 1), dim=1).exp()


# %% next_token_probs right (passed): softmax by hand, with the largest logit of each text subtracted
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1]
    powers = torch.exp(last - last.amax(dim=-1, keepdim=True))
    return powers / powers.sum(dim=-1, keepdim=True)


# %% generate wrong (misconception no-feedback): asks the model once, before the loop, and appends the same token n_tokens times
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    new = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
    for _ in range(n_tokens):
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate wrong (misconception only-the-new): returns only the new tokens, without the text before them
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    new_tokens = []
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        new_tokens.append(new)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
    return torch.stack(new_tokens, dim=1)


# %% generate wrong (misconception stops-at-the-end): stops when every text has written <|endoftext|>, although no token should end the loop early
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
        if (new == 50256).all():
            break
    return tokens


# %% generate wrong (misconception only-the-newest): from the second round on, the model reads only the newest token; right for n_tokens = 1
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    result, current = tokens, tokens
    for _ in range(n_tokens):
        current = model(current).logits[:, -1].argmax(dim=-1, keepdim=True)
        result = torch.cat([result, current], dim=1)
    return result


# %% generate wrong (misconception first-text-only): every text gets the token that is best for the first text; right for a batch of one
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        best = model(tokens).logits[0, -1].argmax()
        tokens = torch.cat([tokens, best.expand(tokens.shape[0], 1)], dim=1)
    return tokens


# %% generate right (passed): argmax at the last position and cat, in a loop
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        guesses = model(tokens).logits.argmax(dim=-1)
        tokens = torch.cat((tokens, guesses[:, -1:]), dim=-1)
    return tokens


# %% generate right (passed): makes room for all tokens first and fills one column per round, without gradients
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    batch, seq = tokens.shape
    result = tokens.new_zeros(batch, seq + n_tokens)
    result[:, :seq] = tokens
    with torch.no_grad():
        for end in range(seq, seq + n_tokens):
            result[:, end] = model(result[:, :end]).logits[:, -1, :].argmax(dim=-1)
    return result


# %% sample wrong (misconception zero-instead-of-never): sets the ruled-out logits to 0 instead of minus infinity, so they keep a probability
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    scaled = scaled.masked_fill(scaled < kth, 0.0)

    # Sampling: make probabilities, and sample one token for each row.
    probs = scaled.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% sample wrong (misconception place-not-token): returns the place among the k best instead of the token's id
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    best = scaled.topk(top_k, dim=-1).values

    # Sampling: make probabilities, and sample one token for each row.
    probs = best.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


# %% sample wrong (misconception first-texts-cut): the k-th best logit of the first row is the limit for every row; right for a batch of one
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    limit = scaled.topk(top_k).values[0, -1]
    scaled = torch.where(scaled < limit, float("-inf"), scaled)

    # Sampling: make probabilities, and sample one token for each row.
    probs = torch.softmax(scaled, dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)


# %% sample wrong (misconception hundred-instead-of-never): rules tokens out with -100, which is not low when the logits (or logits / temperature) are around -100
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    scaled = torch.where(scaled >= kth, scaled, torch.full_like(scaled, -100.0))

    # Sampling: make probabilities, and sample one token for each row.
    probs = scaled.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)


# %% sample wrong (property draws_from_its_generator): draws one random number and uses it for all rows, so the rows are not independent
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    scaled = scaled.masked_fill(scaled < kth, float("-inf"))

    # Sampling: make probabilities, and sample one token for each row.
    probs = scaled.softmax(dim=-1)
    cumulative = probs.double().cumsum(dim=-1)
    chance = torch.rand(1, generator=generator).double() * cumulative[:, -1:]
    return (cumulative <= chance).sum(dim=-1)


# %% sample right (passed): masked_fill with -inf, softmax, multinomial
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    k = min(top_k, scaled.shape[-1])
    kth = scaled.sort(dim=-1, descending=True).values[:, k - 1 : k]
    scaled = scaled.masked_fill(scaled < kth, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    probs = torch.softmax(scaled, dim=-1)
    return torch.multinomial(probs, num_samples=1, generator=generator).flatten()


# %% sample right (passed): a loop over the rows that keeps only the allowed ids of each row and samples among these
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    rows = [row / temperature for row in logits]

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    allowed = []
    for row in rows:
        kth = row.topk(min(top_k, len(row))).values.min()
        allowed.append((row >= kth).nonzero()[:, 0])

    # Sampling: make probabilities, and sample one token for each row.
    chosen = []
    for row, ids in zip(rows, allowed):
        probs = row[ids].softmax(dim=0)
        chosen.append(ids[torch.multinomial(probs, 1, generator=generator)])
    return torch.cat(chosen)


