# %% count_pairs wrong (misconception two-by-two): steps by two, so only every second pair is counted
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(0, len(ids) - 1, 2):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (misconception last-pair-missed): the range ends one too early, so the last pair is missing
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(len(ids) - 2):
        pair = (ids[i], ids[i + 1])
        if pair not in counts:
            counts[pair] = 0
        counts[pair] += 1
    return counts


# %% count_pairs wrong (property first_met_first): most_common sorts the pairs by count (the order shows when a later pair is more frequent)
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    return dict(Counter(zip(ids, ids[1:])).most_common())


# %% count_pairs wrong (property starts_anew): the dict is a default argument, so a second call goes on counting from the first
def count_pairs(ids: list[int], counts={}) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    for left, right in zip(ids, ids[1:]):
        counts[left, right] = counts.get((left, right), 0) + 1
    return counts


# %% count_pairs wrong (raised): goes through bytes, which raises an error for ids from 256 upwards
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    data = bytes(ids)
    counts = {}
    for left, right in zip(data, data[1:]):
        counts[left, right] = counts.get((left, right), 0) + 1
    return counts


# %% count_pairs right (passed): a Counter of itertools.pairwise keeps the order of first occurrence
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter
    from itertools import pairwise

    return dict(Counter(pairwise(ids)))


# %% count_pairs right (passed): an index loop from the second id, with a plain dict
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(1, len(ids)):
        pair = ids[i - 1], ids[i]
        if pair in counts:
            counts[pair] += 1
        else:
            counts[pair] = 1
    return counts


# %% merge wrong (misconception second-left-behind): appends the new id but does not skip the second id of the pair
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    for i in range(len(ids)):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            merged.append(new_id)
        else:
            merged.append(ids[i])
    return merged


# %% merge wrong (misconception last-lost): the loop ends before the last id, so a last id outside a pair is lost
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


# %% merge wrong (misconception from-the-right): goes through the ids from the right (shows for three equal ids in a row)
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged, i = [], len(ids) - 1
    while i >= 0:
        if i > 0 and (ids[i - 1], ids[i]) == pair:
            merged.append(new_id)
            i -= 2
        else:
            merged.append(ids[i])
            i -= 1
    return merged[::-1]


# %% merge wrong (misconception as-a-string): replaces in the printed numbers, so the pair (4, 101) is also found inside 104 101
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    text = " ".join(str(i) for i in ids)
    text = text.replace(f"{pair[0]} {pair[1]}", str(new_id))
    return [int(number) for number in text.split()]


# %% merge wrong (misconception changes-its-input): the returned ids are right, but the list ids is changed
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = ids
    i = 0
    while i < len(merged) - 1:
        if (merged[i], merged[i + 1]) == pair:
            merged[i : i + 2] = [new_id]
        i += 1
    return merged


# %% merge right (passed): a while loop that steps by two after a pair
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


# %% merge right (passed): a for loop with a flag that skips the second id of a pair
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    left, right = pair
    merged, skip = [], False
    for here, after in zip(ids, [*ids[1:], None]):
        if skip:
            skip = False
        elif here == left and after == right:
            merged.append(new_id)
            skip = True
        else:
            merged.append(here)
    return merged


# %% train_bpe wrong (misconception never-merged): does not store the merged ids, so it finds the same pair each time
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


# %% train_bpe wrong (misconception ties-to-the-last): sorts and takes the last pair, so in a tie the pair that occurs last wins
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


# %% train_bpe wrong (misconception characters-for-bytes): starts from the code points of the characters, not from the bytes (shows for é or 👋)
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


# %% train_bpe wrong (property most_frequent_first): counts how many ids a merge would save, so overlapping pairs do not count (shows for runs like aaa)
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = {pair: len(ids) - len(merge(ids, pair, new_id)) for pair in count_pairs(ids)}
        if not counts:
            break
        pair = max(counts, key=counts.get)
        ids = merge(ids, pair, new_id)
        merges[pair] = new_id
    return merges


# %% train_bpe wrong (misconception only-what-repeats): stops when the winner occurs only once (shows for short texts or many merges)
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


# %% train_bpe right (passed): a loop of count_pairs, max and merge
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    while len(merges) < n_merges and len(ids) > 1:
        counts = count_pairs(ids)
        winner = max(counts, key=counts.get)
        merges[winner] = 256 + len(merges)
        ids = merge(ids, winner, merges[winner])
    return merges


# %% train_bpe right (passed): does its own counting and merging, and compares the counts in a loop
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = [int(byte) for byte in text.encode("utf-8")]
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = {}
        for i in range(len(ids) - 1):
            pair = (ids[i], ids[i + 1])
            counts[pair] = counts.get(pair, 0) + 1
        best, best_count = None, 0
        for pair, count in counts.items():
            if count > best_count:
                best, best_count = pair, count
        if best is None:
            break
        merges[best] = new_id
        shorter, i = [], 0
        while i < len(ids):
            if i + 1 < len(ids) and (ids[i], ids[i + 1]) == best:
                shorter.append(new_id)
                i += 1
            else:
                shorter.append(ids[i])
            i += 1
        ids = shorter
    return merges


# %% to_str_tokens wrong (misconception characters): decodes all ids together and cuts the text into letters
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    return list(tokenizer.decode(ids))


# %% to_str_tokens wrong (misconception spaces-stripped): strips the space that belongs to the token
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i).strip() for i in tokenizer.encode(text)]


# %% to_str_tokens wrong (misconception each-token-once): collects the pieces in a dict by id, so a repeated token appears only once
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    pieces = {i: tokenizer.decode(i) for i in tokenizer.encode(text)}
    return list(pieces.values())


# %% to_str_tokens wrong (misconception new-text-of-longer-beginnings): cuts off what the decoded prefix had before (shows if a character has several tokens)
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces, before = [], ""
    for n in range(1, len(ids) + 1):
        now = tokenizer.decode(ids[:n])
        pieces.append(now[len(before) :])
        before = now
    return pieces


# %% to_str_tokens wrong (misconception special-dropped): skip_special_tokens makes <|endoftext|> an empty text
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i, skip_special_tokens=True) for i in tokenizer.encode(text)]


# %% to_str_tokens right (passed): maps decode over the ids
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return list(map(tokenizer.decode, tokenizer.encode(text)))


# %% to_str_tokens right (passed): a loop that decodes slices of one id
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces = []
    for n in range(len(ids)):
        pieces.append(tokenizer.decode(ids[n : n + 1]))
    return pieces


# %% next_token_probs wrong (misconception over-positions): the softmax runs over the positions, not over the vocabulary
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits.softmax(dim=1)[:, -1]


# %% next_token_probs wrong (misconception last-text): logits[-1] is the last text, not the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[-1]
    return last.softmax(dim=-1)


# %% next_token_probs wrong (misconception one-sum-for-all): one softmax over all texts together (shows for more than one text)
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1]
    return last.flatten().softmax(dim=0).view(last.shape)


# %% next_token_probs wrong (misconception first-text-in-a-batch): returns a row only for the first text (shows for more than one text)
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits[0, -1:].softmax(dim=-1)


# %% next_token_probs wrong (misconception one-maximum-for-all): subtracts the maximum of all texts (nan for a text whose logits are much lower than another's)
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1]
    powers = torch.exp(last - last.max())
    return powers / powers.sum(dim=-1, keepdim=True)


# %% next_token_probs right (passed): softmax over the vocabulary everywhere, then the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return torch.softmax(logits, dim=2)[:, -1, :]


# %% next_token_probs right (passed): a softmax by hand for each text, with the text's own maximum
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    rows = []
    for text_logits in logits:
        last = text_logits[-1]
        powers = torch.exp(last - last.max())
        rows.append(powers / powers.sum())
    return torch.stack(rows)


# %% generate wrong (misconception only-the-new): returns only the new tokens, without the texts before them
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    new_tokens = []
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        new_tokens.append(new)
        tokens = torch.cat([tokens, new], dim=1)
    return torch.cat(new_tokens, dim=1)


# %% generate wrong (misconception no-feedback): the model always gets the original text, so the same token is appended again and again
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    longer = tokens
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        longer = torch.cat([longer, new[:, None]], dim=1)
    return longer


# %% generate wrong (misconception first-text-only): the first text's new token is appended to all texts (shows for more than one text)
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        new = model(tokens).logits[0, -1].argmax()
        tokens = torch.cat([tokens, new.expand(tokens.shape[0], 1)], dim=1)
    return tokens


# %% generate wrong (misconception stops-at-the-end): stops when every text gets <|endoftext|>, and returns fewer than n_tokens new tokens
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
        if (new == 50256).all():
            break
    return tokens


# %% generate wrong (property sizes): the model reads only the last 32 tokens (shows for texts that become longer than that)
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        new = model(tokens[:, -32:]).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate right (passed): argmax at the last position, and cat in a loop
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    with torch.no_grad():
        for _ in range(n_tokens):
            best = model(tokens).logits[:, -1, :].argmax(dim=-1)
            tokens = torch.cat((tokens, best.unsqueeze(1)), dim=1)
    return tokens


# %% generate right (passed): makes the whole table first, and fills it column by column with topk
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    batch, seq = tokens.shape
    result = tokens.new_zeros(batch, seq + n_tokens)
    result[:, :seq] = tokens
    for end in range(seq, seq + n_tokens):
        logits = model(result[:, :end]).logits.detach()
        result[:, end] = logits[:, -1].topk(1, dim=-1).indices[:, 0]
    return result


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


# %% sample wrong (difference): takes the smallest of all rows' k-th logits for every row, so other rows keep more than top_k tokens
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(top_k).values.min()
    scaled = scaled.masked_fill(scaled < kth, float("-inf"))

    # Sampling: make probabilities, and sample one token for each row.
    probs = scaled.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)


# %% sample wrong (misconception one-number-for-all): uses one random number for all rows, so they are not sampled independently (shows for more than one row)
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
    best_first, order = scaled.softmax(dim=-1).sort(dim=-1, descending=True)
    chance = torch.rand(1, generator=generator)
    place = (best_first.cumsum(dim=-1) < chance).sum(dim=-1, keepdim=True).clamp(max=top_k - 1)
    return order.gather(1, place)[:, 0]


# %% sample wrong (misconception hundred-instead-of-never): rules tokens out with -100, which is not low enough (shows when the best logits are about -100 too)
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    scaled = torch.where(scaled < kth, torch.full_like(scaled, -100.0), scaled)

    # Sampling: make probabilities, and sample one token for each row.
    probs = scaled.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% sample wrong (misconception naive-exponential): the hand-written exp overflows at a low temperature or for large logits
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    powers = torch.exp(scaled) * (scaled >= kth)

    # Sampling: make probabilities, and sample one token for each row.
    probs = powers / powers.sum(dim=-1, keepdim=True)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% sample right (passed): topk, masked_fill, softmax and multinomial, after a shift of each row to a maximum of 0
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = (logits - logits.amax(dim=-1, keepdim=True)) / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    k = min(top_k, logits.shape[-1])
    kth = logits.topk(k, dim=-1).values[:, -1:]
    scaled = scaled.masked_fill(logits < kth, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    probs = torch.softmax(scaled, dim=-1)
    return torch.multinomial(probs, num_samples=1, generator=generator).squeeze(1)


# %% sample right (passed): goes through the rows in a loop, sorts each row to find the k-th logit, and samples row by row
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    chosen = []
    for row in logits:
        # Temperature: let it act on the logits.
        scaled = (row - row.max()) / temperature

        # Top-k: find the k-th best logit of each row, and rule out every token below it.
        k = min(top_k, len(row))
        kth = row.sort(descending=True).values[k - 1]
        scaled = torch.where(row >= kth, scaled, float("-inf"))

        # Sampling: make probabilities, and sample one token for each row.
        chosen.append(torch.multinomial(scaled.softmax(dim=0), 1, generator=generator))
    return torch.cat(chosen)


