# %% count_pairs wrong (misconception last-pair-missed): the range ends one too early, so the last pair is not counted
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(len(ids) - 2):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (misconception two-by-two): cuts the ids into separate twos, so pairs that begin at an odd place are not counted
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for left, right in zip(ids[::2], ids[1::2]):
        counts[left, right] = counts.get((left, right), 0) + 1
    return counts


# %% count_pairs wrong (property starts_anew): subtle, the dict is a default argument; shows in the second call, which goes on counting
def count_pairs(ids: list[int], counts={}) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (property as_many_as_neighbours): subtle, takes the id 0 for a missing id; shows when an id is 0
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    previous = None
    for current in ids:
        if previous:
            pair = (previous, current)
            counts[pair] = counts.get(pair, 0) + 1
        previous = current
    return counts


# %% count_pairs wrong (property first_met_first): subtle, the dict is sorted by count; shows when a later pair is more frequent than an earlier one
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    return dict(Counter(zip(ids, ids[1:])).most_common())


# %% count_pairs right (passed): Counter over the zipped neighbours
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    return dict(Counter(zip(ids[:-1], ids[1:])))


# %% count_pairs right (passed): a loop over positions, with a test for the first time
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(1, len(ids)):
        pair = (ids[i - 1], ids[i])
        if pair not in counts:
            counts[pair] = 0
        counts[pair] += 1
    return counts


# %% merge wrong (misconception second-left-behind): does not skip the second id of the pair after a merge
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    for i in range(len(ids)):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            merged.append(new_id)
        else:
            merged.append(ids[i])
    return merged


# %% merge wrong (misconception last-lost): the loop stops before the last id, so a last id that is not merged is lost
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    i = 0
    while i < len(ids) - 1:
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


# %% merge wrong (misconception from-the-right): subtle, goes through the ids from the right; shows for a run such as [7, 7, 7] with the pair (7, 7)
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = list(ids)
    i = len(merged) - 2
    while i >= 0:
        if (merged[i], merged[i + 1]) == tuple(pair):
            merged[i : i + 2] = [new_id]
            i -= 1
        i -= 1
    return merged


# %% merge wrong (misconception as-a-string): subtle, replaces in the written-out numbers; shows when an id ends or begins with the digits of the pair (14, 20 for 4, 20)
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    written = " ".join(str(i) for i in ids)
    written = written.replace(f"{pair[0]} {pair[1]}", str(new_id))
    return [int(number) for number in written.split()]


# %% merge wrong (property spells_the_same): subtle, always adds the last id at the end; shows when the pair is at the very end
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    i = 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == pair:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    if ids:
        merged.append(ids[-1])
    return merged


# %% merge right (passed): a while loop with an index
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == tuple(pair):
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


# %% merge right (passed): a for loop that replaces the last id in the result, unless this id is itself a merge
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    left, right = pair
    merged, open_left = [], False
    for current in ids:
        if open_left and current == right:
            merged[-1] = new_id
            open_left = False
        else:
            merged.append(current)
            open_left = current == left
    return merged


# %% train_bpe wrong (misconception never-merged): does not keep the merged ids, so the same pair wins every time
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for i in range(n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        merge(ids, pair, 256 + i)
        merges[pair] = 256 + i
    return merges


# %% train_bpe wrong (misconception ids-to-pairs): returns {new id: pair}
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
        merges[new_id] = pair
    return merges


# %% train_bpe wrong (misconception only-what-repeats): subtle, stops when no pair occurs twice; shows when n_merges is large for the text
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
        merges[pair] = new_id
        ids = merge(ids, pair, new_id)
    return merges


# %% train_bpe wrong (misconception characters-for-bytes): subtle, starts from the code points of the characters, not from bytes; shows when the text is not ASCII
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


# %% train_bpe wrong (property most_frequent_first): subtle, always makes one merge before it looks at n_merges; shows for n_merges = 0
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    while len(ids) > 1:
        counts = count_pairs(ids)
        pair = max(counts, key=counts.get)
        merges[pair] = 256 + len(merges)
        ids = merge(ids, pair, merges[pair])
        if len(merges) >= n_merges:
            break
    return merges


# %% train_bpe right (passed): a for loop over the new ids, with count_pairs and merge
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode("utf-8")), {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if len(counts) == 0:
            break
        winner = max(counts, key=counts.get)
        merges[winner] = new_id
        ids = merge(ids, winner, new_id)
    return merges


# %% train_bpe right (passed): a while loop with its own counting (first of the best by >) and its own merging
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = [int(byte) for byte in bytearray(text, "utf-8")]
    merges = {}
    while len(merges) < n_merges and len(ids) >= 2:
        counts = {}
        for pair in zip(ids, ids[1:]):
            counts[pair] = counts.get(pair, 0) + 1
        best, best_count = None, 0
        for pair, count in counts.items():
            if count > best_count:
                best, best_count = pair, count
        new_id = 256 + len(merges)
        merges[best] = new_id
        rest, ids = ids, []
        position = 0
        while position < len(rest):
            if position + 1 < len(rest) and (rest[position], rest[position + 1]) == best:
                ids.append(new_id)
                position += 2
            else:
                ids.append(rest[position])
                position += 1
    return merges


# %% to_str_tokens wrong (misconception one-string): decodes all ids together, so the list has one entry, the whole text
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    return [tokenizer.decode(ids)]


# %% to_str_tokens wrong (misconception spaces-stripped): strips the spaces from the pieces, although a space is part of its token
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i).strip() for i in tokenizer.encode(text)]


# %% to_str_tokens wrong (misconception each-token-once): subtle, collects the pieces in a dict by id; shows when a token occurs twice
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    pieces = {i: tokenizer.decode(i) for i in tokenizer.encode(text)}
    return list(pieces.values())


# %% to_str_tokens wrong (misconception new-text-of-longer-beginnings): subtle, takes what each id adds to the decoded beginning; shows when a token holds only part of a character (emoji)
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces, before = [], ""
    for n in range(1, len(ids) + 1):
        now = tokenizer.decode(ids[:n])
        pieces.append(now[len(before) :])
        before = now
    return pieces


# %% to_str_tokens wrong (difference prefix): subtle, leaves out tokens that are not whole characters; shows when a character is split over tokens
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    pieces = [tokenizer.decode(i) for i in tokenizer.encode(text)]
    return [piece for piece in pieces if "\ufffd" not in piece]


# %% to_str_tokens right (passed): a list comprehension that decodes one id at a time
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i) for i in tokenizer.encode(text)]


# %% to_str_tokens right (passed): a loop that decodes lists of one id
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces = []
    for position in range(len(ids)):
        pieces.append(tokenizer.decode(ids[position : position + 1]))
    return pieces


# %% next_token_probs wrong (misconception over-positions): the softmax runs along seq instead of vocab
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits.softmax(dim=1)[:, -1]


# %% next_token_probs wrong (misconception last-text): [-1] takes the last text instead of the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits[-1].softmax(dim=-1)


# %% next_token_probs wrong (misconception first-text-in-a-batch): subtle, uses only the first text; shows when the batch has more than one text
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[0, -1]
    return last.softmax(dim=0).unsqueeze(0)


# %% next_token_probs wrong (misconception one-sum-for-all): subtle, divides by the sum over all texts; shows when the batch has more than one text
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1]
    powers = torch.exp(last - last.max())
    return powers / powers.sum()


# %% next_token_probs wrong (property large): subtle, clamps the logits at 80 against overflow; shows when two logits are above 80
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1].clamp(max=80.0)
    return last.softmax(dim=-1)


# %% next_token_probs right (passed): last position first, then softmax along vocab
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return torch.softmax(logits[:, -1, :], dim=-1)


# %% next_token_probs right (passed): subtracts the row's maximum, then exp and the row's sum, text by text
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    rows = []
    for text_logits in logits.unbind(dim=0):
        last = text_logits[-1]
        powers = (last - last.max()).exp()
        rows.append(powers / powers.sum())
    return torch.stack(rows)


# %% generate wrong (misconception no-feedback): the model reads the old text in every round, so the same token is appended again and again
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    longer = tokens
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        longer = torch.cat([longer, new[:, None]], dim=1)
    return longer


# %% generate wrong (misconception only-the-new): returns only the new tokens, without the text
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    start = tokens.shape[1]
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens[:, start:]


# %% generate wrong (misconception first-text-only): subtle, appends the guess for the first text to every text; shows when the batch has more than one text
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        logits = model(tokens).logits
        new = logits[0, -1].argmax()
        tokens = torch.cat([tokens, new.expand(tokens.shape[0], 1)], dim=1)
    return tokens


# %% generate wrong (misconception stops-at-the-end): subtle, stops after <|endoftext|>; shows when all texts choose the token 50256
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, new.unsqueeze(1)], dim=1)
        if (new == 50256).all():
            break
    return tokens


# %% generate wrong (property sizes): subtle, the model reads only the last 32 tokens; shows when the text is longer than 32 tokens
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        logits = model(tokens[:, -32:]).logits
        new = logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, new.unsqueeze(1)], dim=1)
    return tokens


# %% generate right (passed): argmax at the last position, appended with cat
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        best = model(tokens).logits[:, -1, :].argmax(dim=-1, keepdim=True)
        tokens = torch.cat((tokens, best), dim=-1)
    return tokens


# %% generate right (passed): makes room for all tokens first, then fills one column after the other
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    batch, seq = tokens.shape
    result = tokens.new_zeros(batch, seq + n_tokens)
    result[:, :seq] = tokens
    with torch.no_grad():
        for length in range(seq, seq + n_tokens):
            logits = model(result[:, :length].clone()).logits
            result[:, length] = logits[:, length - 1].argmax(dim=-1)
    return result


# %% sample wrong (misconception temperature-upside-down): multiplies by the temperature instead of dividing
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits * temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = logits.topk(top_k, dim=-1).values[:, -1:]
    logits = logits.masked_fill(logits < kth, float("-inf"))

    # Sampling: make probabilities, and sample one token for each row.
    probs = logits.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% sample wrong (misconception zero-instead-of-never): gives the ruled-out tokens the logit 0, so they can still be sampled
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = logits.topk(top_k, dim=-1).values[:, -1:]
    logits = torch.where(logits < kth, torch.zeros_like(logits), logits)

    # Sampling: make probabilities, and sample one token for each row.
    probs = logits.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% sample wrong (property draws_from_its_generator): subtle, sets the seed of the generator again; shows in the second call with the same generator
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
    generator.manual_seed(generator.initial_seed())
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


# %% sample wrong (property draws_from_its_generator): subtle, uses one random number for all rows; shows with several rows, which are then not independent
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
    cumulative = probs.cumsum(dim=-1)
    u = torch.rand(1, generator=generator) * cumulative[:, -1:]
    return torch.searchsorted(cumulative, u, right=True).squeeze(1)


# %% sample wrong (misconception naive-exponential): subtle, hand-written exp; shows at a low temperature, where exp overflows
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    powers = torch.exp(scaled)
    powers = torch.where(scaled < kth, torch.zeros_like(powers), powers)

    # Sampling: make probabilities, and sample one token for each row.
    probs = powers / powers.sum(dim=-1, keepdim=True)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


# %% sample right (passed): divide, topk and masked_fill, softmax and multinomial for all rows at once
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    k = min(top_k, scaled.shape[-1])
    kth = torch.topk(scaled, k, dim=-1).values[:, -1:]
    scaled = scaled.masked_fill(scaled < kth, float("-inf"))

    # Sampling: make probabilities, and sample one token for each row.
    probs = torch.softmax(scaled, dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)


# %% sample right (passed): sorts the rows for the threshold, and samples row by row
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    shifted = (logits - logits.amax(dim=-1, keepdim=True)) / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    descending = shifted.sort(dim=-1, descending=True).values
    kth_best = descending[:, min(top_k, descending.shape[-1]) - 1].unsqueeze(-1)
    allowed = shifted >= kth_best

    # Sampling: make probabilities, and sample one token for each row.
    chosen = []
    for row, keep in zip(shifted, allowed):
        probs = torch.where(keep, row, float("-inf")).softmax(dim=0)
        chosen.append(torch.multinomial(probs, 1, generator=generator))
    return torch.cat(chosen)


