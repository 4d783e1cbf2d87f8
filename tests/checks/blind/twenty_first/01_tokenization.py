# %% count_pairs wrong (misconception two-by-two): the loop goes in steps of two, so only every second pair is counted ([7, 7, 7] gives 1, [1, 2, 3] lacks (2, 3))
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(0, len(ids) - 1, 2):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (property as_many_as_neighbours): a pair that is new starts at 1 and is then increased, so every count is one too high
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for left, right in zip(ids, ids[1:]):
        counts[left, right] = counts.get((left, right), 1) + 1
    return counts


# %% count_pairs wrong (property first_met_first): most_common sorts the pairs by their count, so the dict is not in the order in which the pairs first occur; the counts are right
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    counter = Counter(zip(ids, ids[1:]))
    return dict(counter.most_common())


# %% count_pairs wrong (property starts_anew): the dict is a default argument and is kept between calls, so a second call adds to the counts of the first call
def count_pairs(ids: list[int], counts={}) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    for pair in zip(ids, ids[1:]):
        if pair in counts:
            counts[pair] += 1
        else:
            counts[pair] = 1
    return counts


# %% count_pairs wrong (property leaves_its_inputs): pop(0) empties the caller's list down to one id; the counts are right, but the page uses ids again afterwards
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    while len(ids) > 1:
        left = ids.pop(0)
        pair = (left, ids[0])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs right (passed): collections.Counter over the zipped neighbours, turned into a dict
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    return dict(Counter(zip(ids, ids[1:])))


# %% count_pairs right (passed): a loop over positions that compares each id with the previous id, with if and else
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    result = {}
    for position in range(1, len(ids)):
        key = (ids[position - 1], ids[position])
        if key not in result:
            result[key] = 1
        else:
            result[key] += 1
    return result


# %% merge wrong (misconception second-left-behind): after a merge the loop goes on by one place only, so the second id of the pair stays in the list ([104, 101] gives [256, 101])
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    for i in range(len(ids)):
        if tuple(ids[i : i + 2]) == pair:
            merged.append(new_id)
        else:
            merged.append(ids[i])
    return merged


# %% merge wrong (misconception first-only): the loop stops after the first pair, so only the first occurrence is replaced
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = list(ids)
    for i in range(len(merged) - 1):
        if (merged[i], merged[i + 1]) == pair:
            merged[i : i + 2] = [new_id]
            break
    return merged


# %% merge wrong (misconception from-the-right): goes through the ids from the right instead of the left, so [7, 7, 7] with the pair (7, 7) gives [7, 256] instead of [256, 7]
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = list(ids)
    for i in range(len(merged) - 2, -1, -1):
        if (merged[i], merged[i + 1]) == pair:
            merged[i : i + 2] = [new_id]
    return merged


# %% merge wrong (misconception as-a-string): replaces inside a string of numbers, so parts of longer numbers match too: the pair (1, 2) is also found in [11, 2] and in [1, 25]
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    text = " ".join(str(i) for i in ids)
    text = text.replace(f"{pair[0]} {pair[1]}", str(new_id))
    return [int(number) for number in text.split()]


# %% merge wrong (property leaves_its_inputs): the result is right, but a sentinel -1 is appended to the caller's list ids and never removed, so the list ids is changed
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    ids.append(-1)  # so that ids[i + 1] always exists
    merged, i = [], 0
    while i < len(ids) - 1:
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


# %% merge right (passed): a copy of the list is shortened in place with slices, in a while loop from the left
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    out = list(ids)
    i = 0
    while i < len(out) - 1:
        if out[i] == pair[0] and out[i + 1] == pair[1]:
            out[i : i + 2] = [new_id]
        i += 1
    return out


# %% merge right (passed): a for loop with a flag that skips the second id of a merged pair
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    result, skip = [], False
    for i, token in enumerate(ids):
        if skip:
            skip = False
        elif tuple(ids[i : i + 2]) == tuple(pair):
            result.append(new_id)
            skip = True
        else:
            result.append(token)
    return result


# %% train_bpe wrong (misconception counted-once): counts once and takes the n_merges most frequent pairs of bytes, without merging and counting again; only the first merge is sure to be right
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    counts = count_pairs(list(text.encode()))
    best = sorted(counts, key=counts.get, reverse=True)[:n_merges]
    return {pair: 256 + i for i, pair in enumerate(best)}


# %% train_bpe wrong (misconception ids-to-pairs): the dict is the wrong way round, {new id: pair} instead of {pair: new id}
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        pair = max(counts, key=counts.get)
        ids = merge(ids, pair, new_id)
        merges[new_id] = pair
    return merges


# %% train_bpe wrong (misconception ties-to-the-last): the last entry of the sorted pairs is taken, so in a tie the pair that occurs last wins instead of the pair that occurs first
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for n in range(n_merges):
        counts = count_pairs(ids)
        winner = sorted(counts, key=counts.get)[-1]
        merges[winner] = 256 + n
        ids = merge(ids, winner, 256 + n)
    return merges


# %% train_bpe wrong (misconception only-what-repeats): stops when the winner occurs only once, so there are fewer than n_merges merges for a short text; the page says to merge it all the same
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        pair = max(counts, key=counts.get, default=None)
        if pair is None or counts[pair] < 2:
            break
        merges[pair] = new_id
        ids = merge(ids, pair, new_id)
    return merges


# %% train_bpe wrong (property texts): strip removes spaces and line ends at both ends of the text before training, so pairs there are not counted: the first merge of " a a" is (97, 32) instead of (32, 97)
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.strip().encode("utf-8"))
    merges = {}
    while len(merges) < n_merges:
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        new_id = 256 + len(merges)
        merges[pair] = new_id
        ids = merge(ids, pair, new_id)
    return merges


# %% train_bpe right (passed): a for loop over the new ids with count_pairs, max and merge
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode()), {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        merges[pair] = new_id
        ids = merge(ids, pair, new_id)
    return merges


# %% train_bpe right (passed): everything by hand in one function, with its own counting, its own search for the winner and its own merging
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    sequence = [byte for byte in text.encode("utf-8")]
    table = {}
    while len(table) < n_merges and len(sequence) > 1:
        tally = {}
        for left, right in zip(sequence[:-1], sequence[1:]):
            tally[left, right] = tally.get((left, right), 0) + 1
        best = None
        for candidate, count in tally.items():
            if best is None or count > tally[best]:
                best = candidate
        number = 256 + len(table)
        table[best] = number
        shorter, place = [], 0
        while place < len(sequence):
            if tuple(sequence[place : place + 2]) == best:
                shorter.append(number)
                place += 2
            else:
                shorter.append(sequence[place])
                place += 1
        sequence = shorter
    return table


# %% to_str_tokens wrong (difference): encodes with str.encode, so the numbers of the UTF-8 bytes are decoded as if they were GPT-2's ids
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = text.encode()
    return [tokenizer.decode(i) for i in ids]


# %% to_str_tokens wrong (difference): decodes all ids together and splits the text at its spaces, so the list has words instead of tokens, without their spaces
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    return tokenizer.decode(ids).split(" ")


# %% to_str_tokens wrong (misconception only-the-space-translated): looks the pieces up in the vocabulary and only turns Ġ back into a space, so a line end shows as Ċ and é as Ã©; right for plain words
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    piece_of = {i: piece for piece, i in tokenizer.get_vocab().items()}
    return [piece_of[i].replace("Ġ", " ") for i in tokenizer.encode(text)]


# %% to_str_tokens wrong (misconception new-text-of-longer-beginnings): takes the difference between decoded prefixes, so of an emoji cut into several tokens some tokens become empty or the whole emoji instead of �
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces, done = [], ""
    for i in range(len(ids)):
        so_far = tokenizer.decode(ids[: i + 1])
        pieces.append(so_far[len(done) :])
        done = so_far
    return pieces


# %% to_str_tokens wrong (misconception each-token-once): the ids are the keys of a dict, so a token that occurs again in the text is listed only once
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    strings = {}
    for i in tokenizer.encode(text):
        strings[i] = tokenizer.decode(i)
    return list(strings.values())


# %% to_str_tokens right (passed): a list comprehension that decodes each id
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i) for i in tokenizer.encode(text)]


# %% to_str_tokens right (passed): a loop with append that decodes a list of one id each time
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    pieces = []
    for token_id in tokenizer.encode(text):
        piece = tokenizer.decode([token_id])
        pieces.append(piece)
    return pieces


# %% next_token_probs wrong (misconception first-position): takes the logits at the first position instead of the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits[:, 0].softmax(dim=-1)


# %% next_token_probs wrong (misconception last-text): logits[-1] is the last text, not the last position, so the result has shape [seq, vocab] with the probabilities of one text
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[-1]
    return torch.softmax(last, dim=-1)


# %% next_token_probs wrong (difference milestone): divides by the sum over all texts, so with several texts each row sums to less than one; right for a batch of one text
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1, :]
    powers = torch.exp(last - last.amax(dim=-1, keepdim=True))
    return powers / powers.sum()


# %% next_token_probs wrong (misconception loses-the-batch): squeeze removes the batch axis when there is one text, so the result has shape [vocab] instead of [1, vocab]
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return torch.softmax(logits[:, -1:], dim=-1).squeeze()


# %% next_token_probs wrong (property leaves_its_inputs): works in place on a view, so the caller's logits are overwritten at the last position and a second call with them gives other probabilities
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1]
    last -= last.amax(dim=-1, keepdim=True)
    last.exp_()
    return last / last.sum(dim=-1, keepdim=True)


# %% next_token_probs right (passed): the exponential of log_softmax at the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits.select(1, logits.shape[1] - 1)
    return torch.log_softmax(last, dim=1).exp()


# %% next_token_probs right (passed): a loop over the texts, softmax of a vector, then stack
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    rows = []
    for text_logits in logits:
        rows.append(text_logits[-1].softmax(dim=0))
    return torch.stack(rows)


# %% generate wrong (misconception only-the-new): returns only the new tokens, without the text before them
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    new_tokens = []
    for _ in range(n_tokens):
        best = model(tokens).logits[:, -1].argmax(dim=-1)
        new_tokens.append(best)
        tokens = torch.cat([tokens, best[:, None]], dim=1)
    return torch.stack(new_tokens, dim=1)


# %% generate wrong (misconception no-feedback): the model runs once before the loop, so the same token is appended n_tokens times; right for n_tokens = 1
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    logits = model(tokens).logits[:, -1]
    for _ in range(n_tokens):
        best = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, best], dim=-1)
    return tokens


# %% generate wrong (misconception stops-at-the-end): the loop ends as soon as a text gets the token <|endoftext|>, although the page says that no token ends the loop early; too few new tokens then
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        best = model(tokens).logits[:, -1, :].argmax(dim=-1)
        tokens = torch.cat([tokens, best.unsqueeze(1)], dim=1)
        if (best == 50256).any():
            break
    return tokens


# %% generate wrong (misconception first-text-only): the best token of the first text is appended to every text of the batch; right for a batch of one text
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        best = model(tokens).logits[0, -1].argmax()
        tokens = torch.cat([tokens, best.expand(tokens.shape[0], 1)], dim=1)
    return tokens


# %% generate wrong (property sizes): the model reads only the last 16 tokens instead of the whole text, so texts longer than 16 tokens can go on differently
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    context = 16
    for _ in range(n_tokens):
        logits = model(tokens[:, -context:]).logits
        best = logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, best], dim=1)
    return tokens


# %% generate right (passed): a loop with argmax(keepdim=True) and hstack
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    longer = tokens
    for _ in range(n_tokens):
        best = model(longer).logits[:, -1].argmax(dim=-1, keepdim=True)
        longer = torch.hstack((longer, best))
    return longer


# %% generate right (passed): a table of the final size is made first and filled column by column, with max(...).indices
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    batch, seq = tokens.shape
    result = tokens.new_zeros(batch, seq + n_tokens)
    result[:, :seq] = tokens
    for position in range(seq, seq + n_tokens):
        last = model(result[:, :position]).logits[:, -1, :]
        result[:, position] = last.max(dim=-1).indices
    return result


# %% sample wrong (misconception temperature-upside-down): multiplies the logits by the temperature instead of dividing, so a high temperature makes the choice less random; right at temperature 1
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
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)


# %% sample wrong (misconception keeps-the-axis): the axis of multinomial's one sample is not removed, so the result has shape [batch, 1] instead of [batch]
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    threshold = torch.topk(scaled, top_k, dim=-1).values[:, -1, None]
    scaled = scaled.masked_fill(scaled < threshold, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    probs = torch.softmax(scaled, dim=-1)
    return torch.multinomial(probs, 1, generator=generator)


# %% sample wrong (property draws_from_its_generator): one random number is used for all rows, so the rows are not sampled independently: equal rows always get the same token
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = logits.topk(top_k, dim=-1).values[:, -1:]
    logits = logits.masked_fill(logits < kth, float("-inf"))

    # Sampling: make probabilities, and sample one token for each row.
    probs = logits.softmax(dim=-1)
    u = torch.rand(1, generator=generator)
    token = (probs.cumsum(dim=-1) < u).sum(dim=-1)
    return token.clamp(max=logits.shape[-1] - 1)


# %% sample wrong (raised): the k-th best logit is taken before the division but compared with the divided logits, so at temperatures other than 1 too many or too few tokens (even none) are left
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth_best = logits.topk(top_k, dim=-1).values[:, -1].unsqueeze(-1)
    kept = torch.where(scaled >= kth_best, scaled, torch.full_like(scaled, float("-inf")))

    # Sampling: make probabilities, and sample one token for each row.
    probs = kept.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% sample wrong (property leaves_its_inputs): /= divides the caller's logits in place, so a second call with the same logits is divided by the temperature twice
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits /= temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = torch.topk(logits, top_k, dim=-1).values[:, -1:]
    best = logits.masked_fill(logits < kth, float("-inf"))

    # Sampling: make probabilities, and sample one token for each row.
    probs = best.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(dim=1)


# %% sample right (passed): sort finds the k-th best logit, torch.where hides the rest, one call of multinomial for the batch
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    ranked = torch.sort(scaled, dim=-1, descending=True).values
    k = min(top_k, scaled.shape[-1])
    threshold = ranked[:, k - 1].unsqueeze(-1)
    scaled = torch.where(scaled >= threshold, scaled, torch.full_like(scaled, float("-inf")))

    # Sampling: make probabilities, and sample one token for each row.
    probs = torch.softmax(scaled, dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)


# %% sample right (passed): a loop over the rows, with topk and multinomial for one row at a time
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    rows = [row / temperature for row in logits]

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kept = []
    for row in rows:
        kth = row.topk(min(top_k, len(row))).values[-1]
        kept.append(row.masked_fill(row < kth, float("-inf")))

    # Sampling: make probabilities, and sample one token for each row.
    chosen = [torch.multinomial(row.softmax(dim=0), 1, generator=generator) for row in kept]
    return torch.cat(chosen)
