# %% count_pairs wrong (misconception two-by-two): cuts the ids into separate pairs (steps of two), so every second pair is not counted
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for pair in zip(ids[::2], ids[1::2]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (misconception last-pair-missed): off by one, the last pair is never counted
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(len(ids) - 2):
        pair = (ids[i], ids[i + 1])
        if pair not in counts:
            counts[pair] = 0
        counts[pair] += 1
    return counts


# %% count_pairs wrong (property first_met_first): the dict is ordered by count instead of by first occurrence; shows only in the order of the keys
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    return dict(Counter(zip(ids, ids[1:])).most_common())


# %% count_pairs wrong (raised): stores the ids as bytes; raises an error when an id is above 255 (after a merge)
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    data = bytes(ids)
    counts = {}
    for i in range(len(data) - 1):
        pair = (data[i], data[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (raised): takes ids[0] before the loop; raises an error for an empty list instead of returning an empty dict
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    previous = ids[0]
    for current in ids[1:]:
        counts[previous, current] = counts.get((previous, current), 0) + 1
        previous = current
    return counts


# %% count_pairs right (passed): a Counter of the list zipped with itself, shifted by one
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    return dict(Counter(zip(ids, ids[1:])))


# %% count_pairs right (passed): loop over positions with setdefault
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(1, len(ids)):
        pair = (ids[i - 1], ids[i])
        counts.setdefault(pair, 0)
        counts[pair] += 1
    return counts


# %% merge wrong (misconception second-left-behind): replaces the first id of the pair but does not skip the second id
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    for i in range(len(ids)):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            merged.append(new_id)
        else:
            merged.append(ids[i])
    return merged


# %% merge wrong (misconception changes-its-input): works on the list itself, so the caller's ids are changed
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = ids
    i = 0
    while i < len(merged) - 1:
        if (merged[i], merged[i + 1]) == pair:
            merged[i] = new_id
            merged.pop(i + 1)
        i += 1
    return merged


# %% merge wrong (misconception as-a-string): replaces digits in a string; shows when the pair's digits occur inside longer numbers, as (4, 1) in 14 15
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    text = " ".join(str(i) for i in ids)
    text = text.replace(f"{pair[0]} {pair[1]}", str(new_id))
    return [int(piece) for piece in text.split()]


# %% merge wrong (misconception from-the-right): goes through the ids from the right; shows for runs such as [7, 7, 7] with the pair (7, 7)
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    i = len(ids) - 1
    while i >= 0:
        if i > 0 and ids[i - 1] == pair[0] and ids[i] == pair[1]:
            merged.append(new_id)
            i -= 2
        else:
            merged.append(ids[i])
            i -= 1
    return merged[::-1]


# %% merge wrong (property spells_the_same): stops looking too early; shows when the pair stands at the very end of the ids
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    i = 0
    while i < len(ids):
        if i < len(ids) - 2 and ids[i] == pair[0] and ids[i + 1] == pair[1]:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


# %% merge right (passed): while loop that moves on by one or two places
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    i = 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == tuple(pair):
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


# %% merge right (passed): for loop over neighbours with a flag for ids that are already used up
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    left, right = pair
    merged, used = [], False
    for current, following in zip(ids, [*ids[1:], None]):
        if used:
            used = False
        elif current == left and following is not None and following == right:
            merged.append(new_id)
            used = True
        else:
            merged.append(current)
    return merged


# %% train_bpe wrong (misconception counted-once): counts only once, and takes the most frequent pairs of bytes as merges
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    counts = count_pairs(ids)
    merges = {}
    for new_id in range(256, 256 + n_merges):
        pair = max(counts, key=counts.get)
        merges[pair] = new_id
        ids = merge(ids, pair, new_id)
        del counts[pair]
    return merges


# %% train_bpe wrong (misconception ids-to-pairs): the dict is the wrong way round, {new id: pair}
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for n in range(n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        merges[256 + n] = pair
        ids = merge(ids, pair, 256 + n)
    return merges


# %% train_bpe wrong (misconception only-what-repeats): stops when the winner occurs only once; shows when n_merges is large for the text
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for n in range(n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        if counts[pair] < 2:
            break
        merges[pair] = 256 + n
        ids = merge(ids, pair, 256 + n)
    return merges


# %% train_bpe wrong (misconception characters-for-bytes): starts from the code points of the characters, not from the UTF-8 bytes; shows for é or an emoji
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = [ord(character) for character in text]
    merges = {}
    for n in range(n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        merges[pair] = 256 + n
        ids = merge(ids, pair, 256 + n)
    return merges


# %% train_bpe wrong (property most_frequent_first): counts runs of one id without overlap (aaa is one pair aa); shows when such a run decides the winner
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for n in range(n_merges):
        counts, i = {}, 0
        while i < len(ids) - 1:
            pair = (ids[i], ids[i + 1])
            counts[pair] = counts.get(pair, 0) + 1
            # The next pair must not share an id with the same pair.
            i += 2 if pair == tuple(ids[i + 1 : i + 3]) else 1
        if not counts:
            break
        pair = max(counts, key=counts.get)
        merges[pair] = 256 + n
        ids = merge(ids, pair, 256 + n)
    return merges


# %% train_bpe right (passed): count_pairs, max and merge in a loop
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode()), {}
    while len(merges) < n_merges and len(ids) > 1:
        counts = count_pairs(ids)
        pair = max(counts, key=counts.get)
        new_id = 256 + len(merges)
        merges[pair] = new_id
        ids = merge(ids, pair, new_id)
    return merges


# %% train_bpe right (passed): finds the winner by a stable sort, and merges by itself with a Counter and an index
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    from collections import Counter

    pieces = list(bytearray(text, "utf-8"))
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = Counter(zip(pieces, pieces[1:]))
        if not counts:
            break
        winner = sorted(counts, key=lambda pair: -counts[pair])[0]
        merges[winner] = new_id
        shorter, i = [], 0
        while i < len(pieces):
            found = i + 1 < len(pieces) and (pieces[i], pieces[i + 1]) == winner
            shorter.append(new_id if found else pieces[i])
            i += 1 + found
        pieces = shorter
    return merges


# %% to_str_tokens wrong (misconception characters): decodes all ids together and returns the single characters
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return list(tokenizer.decode(tokenizer.encode(text)))


# %% to_str_tokens wrong (misconception spaces-stripped): removes the space that belongs to a token
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i).strip() for i in tokenizer.encode(text)]


# %% to_str_tokens wrong (misconception each-token-once): collects the pieces in a dict by id; shows when a token occurs twice in the text
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    pieces = {}
    for i in tokenizer.encode(text):
        pieces[i] = tokenizer.decode(i)
    return list(pieces.values())


# %% to_str_tokens wrong (misconception new-text-of-longer-beginnings): cuts longer and longer decoded texts; shows when a character is spread over several tokens
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces, done = [], ""
    for n in range(1, len(ids) + 1):
        so_far = tokenizer.decode(ids[:n])
        pieces.append(so_far[len(done) :])
        done = so_far
    return pieces


# %% to_str_tokens wrong (misconception only-the-space-translated): reads the vocabulary's visible characters and translates only Ġ; shows for é, emojis and line breaks
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    names = {i: name for name, i in tokenizer.get_vocab().items()}
    return [names[i].replace("Ġ", " ") for i in tokenizer.encode(text)]


# %% to_str_tokens right (passed): a list comprehension that decodes one id at a time
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i) for i in tokenizer.encode(text)]


# %% to_str_tokens right (passed): a loop that decodes lists of a single id
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces = []
    for place in range(len(ids)):
        pieces.append(tokenizer.decode(ids[place : place + 1]))
    return pieces


# %% next_token_probs wrong (misconception over-positions): the softmax runs along the positions instead of the vocabulary
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits.softmax(dim=1)[:, -1]


# %% next_token_probs wrong (misconception last-text): takes the last text of the batch instead of the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits[-1].softmax(dim=-1)


# %% next_token_probs wrong (misconception one-sum-for-all): one softmax over all texts together; shows when the batch has more than one text
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1]
    return last.flatten().softmax(dim=0).view(last.shape)


# %% next_token_probs wrong (difference constant): repeats the first text's probabilities for all texts; shows when the batch has more than one text
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    probs = logits[0, -1].softmax(dim=-1)
    return probs.repeat(logits.shape[0], 1)


# %% next_token_probs wrong (raised): drops position 0 before it takes the last position; shows for texts of one token
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    # The logits at position j score token j + 1, so the first position is left out.
    shifted = logits[:, 1:]
    return torch.softmax(shifted[:, -1, :], dim=-1)


# %% next_token_probs right (passed): softmax along the last axis of everything, then the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return torch.softmax(logits, dim=2)[:, -1, :]


# %% next_token_probs right (passed): exp and division by hand, after subtracting each text's highest logit
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits.select(1, logits.shape[1] - 1)
    powers = (last - last.amax(dim=-1, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


# %% generate wrong (misconception only-the-new): returns only the new tokens, without the text before them
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    start = tokens.shape[1]
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
    return tokens[:, start:]


# %% generate wrong (misconception one-too-few): off by one, appends n_tokens - 1 tokens
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(1, n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate wrong (misconception only-the-newest): after the first round the model reads only the newest token; shows when n_tokens is above 1
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    pieces = [tokens]
    for _ in range(n_tokens):
        new = model(pieces[-1]).logits[:, -1].argmax(dim=-1, keepdim=True)
        pieces.append(new)
    return torch.cat(pieces, dim=1)


# %% generate wrong (misconception stops-at-the-end): stops at the end token 50256; shows when the model chooses that token
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
        if (new == 50256).all():
            break
    return tokens


# %% generate wrong (misconception first-text-only): every text gets the first text's token; shows when the batch has more than one text
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        best = model(tokens).logits[0, -1].argmax()
        tokens = torch.cat([tokens, best.expand(len(tokens), 1)], dim=1)
    return tokens


# %% generate right (passed): appends the best token of the last position with torch.cat
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        logits = model(tokens).logits
        new = logits[:, -1, :].argmax(dim=-1)
        tokens = torch.cat([tokens, new.unsqueeze(1)], dim=1)
    return tokens


# %% generate right (passed): fills a table that is made beforehand, and lets the model read the filled part
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    batch, seq = tokens.shape
    table = tokens.new_zeros(batch, seq + n_tokens)
    table[:, :seq] = tokens
    with torch.no_grad():
        for place in range(seq, seq + n_tokens):
            guesses = model(table[:, :place].clone()).logits.argmax(dim=-1)
            table[:, place] = guesses[:, -1]
    return table


# %% sample wrong (misconception temperature-upside-down): multiplies the logits by the temperature instead of dividing
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits * temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    scaled = scaled.masked_fill(scaled < kth, float("-inf"))

    # Sampling: make probabilities, and sample one token for each row.
    probs = scaled.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% sample wrong (property draws_from_its_generator): forgets to pass the generator to multinomial
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
    return torch.multinomial(probs, 1).squeeze(1)


# %% sample wrong (misconception hundred-instead-of-never): rules tokens out with a logit of -100 instead of -inf; shows when a row's best logits are near or below -100
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    scaled = scaled.masked_fill(scaled < kth, -100.0)

    # Sampling: make probabilities, and sample one token for each row.
    probs = scaled.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% sample wrong (property draws_from_its_generator): all rows share one random number, so they are not independent; shows when the batch has more than one row
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
    cumulative = scaled.softmax(dim=-1).cumsum(dim=-1)
    u = torch.rand(1, generator=generator)
    return (cumulative <= u * cumulative[:, -1:]).sum(dim=-1).clamp(max=logits.shape[-1] - 1)


# %% sample wrong (misconception naive-exponential): hand-written exp without subtracting the highest logit; overflows at a low temperature
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    scaled = torch.where(scaled < kth, float("-inf"), scaled)

    # Sampling: make probabilities, and sample one token for each row.
    powers = torch.exp(scaled)
    probs = powers / powers.sum(dim=-1, keepdim=True)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% sample right (passed): topk for the k-th best logit, masked_fill, softmax and multinomial
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    best = torch.topk(scaled, min(top_k, scaled.shape[-1]), dim=-1).values
    kept = scaled.masked_fill(scaled < best[:, -1:], float("-inf"))

    # Sampling: make probabilities, and sample one token for each row.
    return torch.multinomial(kept.softmax(dim=-1), 1, generator=generator).squeeze(-1)


# %% sample right (passed): sorts each row for the k-th best logit, and samples by a race of exponential waiting times
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    cooled = torch.div(logits, temperature)

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    ranked, _ = cooled.sort(dim=-1, descending=True)
    k = min(top_k, ranked.shape[-1])
    allowed = cooled >= ranked[:, k - 1].unsqueeze(-1)
    cooled = torch.where(allowed, cooled, torch.full_like(cooled, float("-inf")))

    # Sampling: make probabilities, and sample one token for each row.
    # The token with the shortest waiting time wins; it wins with its probability.
    probs = torch.softmax(cooled, dim=-1)
    waiting = torch.empty_like(probs).exponential_(generator=generator)
    return (probs / waiting).argmax(dim=-1)


