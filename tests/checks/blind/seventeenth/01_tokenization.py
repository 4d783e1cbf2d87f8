# %% count_pairs wrong (misconception last-pair-missed): the loop ends one pair too early
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(len(ids) - 2):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (misconception two-by-two): steps by two, so only every second pair is counted
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(0, len(ids) - 1, 2):
        pair = (ids[i], ids[i + 1])
        if pair not in counts:
            counts[pair] = 0
        counts[pair] += 1
    return counts


# %% count_pairs wrong (property first_met_first): subtle, most_common sorts by count; shows when a later pair is more frequent than an earlier one (order of the dict)
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    return dict(Counter(zip(ids, ids[1:])).most_common())


# %% count_pairs wrong (property starts_anew): subtle, the dict is made once outside the function; shows from the second call on
pair_counts = {}


def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    for left, right in zip(ids, ids[1:]):
        pair_counts[left, right] = pair_counts.get((left, right), 0) + 1
    return pair_counts


# %% count_pairs wrong (property as_many_as_neighbours): subtle, tests "if previous" instead of "is not None"; shows when the id 0 is the left one of a pair
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


# %% count_pairs right (passed): Counter over zip, turned into a dict
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    return dict(Counter(zip(ids[:-1], ids[1:])))


# %% count_pairs right (passed): index loop from the second id, looking back, with setdefault
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(1, len(ids)):
        pair = (ids[i - 1], ids[i])
        counts.setdefault(pair, 0)
        counts[pair] += 1
    return counts


# %% merge wrong (misconception second-left-behind): does not skip the second id of the pair
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    result = []
    for i in range(len(ids)):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            result.append(new_id)
        else:
            result.append(ids[i])
    return result


# %% merge wrong (misconception last-lost): looks only at starts of pairs, so a last id that is not merged is lost
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    result = []
    i = 0
    while i < len(ids) - 1:
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            result.append(new_id)
            i += 2
        else:
            result.append(ids[i])
            i += 1
    return result


# %% merge wrong (misconception from-the-right): subtle, goes from the right; shows when a pair of two equal ids overlaps itself, as in 7, 7, 7
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    result = []
    i = len(ids) - 1
    while i >= 0:
        if i > 0 and (ids[i - 1], ids[i]) == pair:
            result.append(new_id)
            i -= 2
        else:
            result.append(ids[i])
            i -= 1
    return result[::-1]


# %% merge wrong (misconception changes-its-input): subtle, replaces inside the list that it gets; shows when the caller uses ids afterwards
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    i = 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == pair:
            ids[i : i + 2] = [new_id]
        i += 1
    return ids


# %% merge wrong (misconception as-a-string): subtle, replaces in a text of numbers; shows when an id ends or begins with the digits of the pair, as 17 before 7
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    line = " ".join(str(i) for i in ids)
    line = line.replace(f"{pair[0]} {pair[1]}", str(new_id))
    return [int(number) for number in line.split()]


# %% merge right (passed): while loop with an index that moves by one or two
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    result = []
    i = 0
    while i < len(ids):
        if i < len(ids) - 1 and ids[i] == pair[0] and ids[i + 1] == pair[1]:
            result.append(new_id)
            i += 2
        else:
            result.append(ids[i])
            i += 1
    return result


# %% merge right (passed): holds one id back until it is known whether it starts the pair
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    left, right = pair
    result, held = [], []
    for current in ids:
        if held and current == right:
            result.append(new_id)
            held = []
            continue
        result += held
        held = []
        if current == left:
            held = [current]
        else:
            result.append(current)
    return result + held


# %% train_bpe wrong (misconception ids-one-late): the first new id is 257
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    new_id = 256
    for _ in range(n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        new_id += 1
        winner = max(counts, key=counts.get)
        ids = merge(ids, winner, new_id)
        merges[winner] = new_id
    return merges


# %% train_bpe wrong (misconception counted-once): counts the pairs only once, before the loop
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    counts = count_pairs(ids)
    merges = {}
    for new_id in range(256, 256 + n_merges):
        if not counts:
            break
        winner = max(counts, key=counts.get)
        ids = merge(ids, winner, new_id)
        merges[winner] = new_id
        del counts[winner]
    return merges


# %% train_bpe wrong (misconception characters-for-bytes): subtle, starts from the code points of the characters; shows when the text is not ASCII
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = [ord(character) for character in text]
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        winner = max(counts, key=counts.get)
        ids = merge(ids, winner, new_id)
        merges[winner] = new_id
    return merges


# %% train_bpe wrong (misconception only-what-repeats): subtle, stops when no pair occurs twice; shows when merges of pairs that occur once are asked for
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        winner = max(counts, key=counts.get, default=None)
        if winner is None or counts[winner] < 2:
            break
        ids = merge(ids, winner, new_id)
        merges[winner] = new_id
    return merges


# %% train_bpe wrong (property most_frequent_first): subtle, counts pairs of equal ids without overlaps; shows when a run of equal ids decides who wins
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts, last_end = {}, {}
        for i, pair in enumerate(zip(ids, ids[1:])):
            if last_end.get(pair) == i:
                continue
            counts[pair] = counts.get(pair, 0) + 1
            last_end[pair] = i + 1
        if not counts:
            break
        winner = max(counts, key=counts.get)
        ids = merge(ids, winner, new_id)
        merges[winner] = new_id
    return merges


# %% train_bpe right (passed): loop with count_pairs, max and merge, stops when no pair is left
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


# %% train_bpe right (passed): self-contained, keeps the first place of each pair and picks the winner by count and place
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = [int(b) for b in text.encode("utf-8")]
    merges = {}
    for step in range(n_merges):
        count, first = {}, {}
        for place, pair in enumerate(zip(ids, ids[1:])):
            count[pair] = count.get(pair, 0) + 1
            first.setdefault(pair, place)
        if not count:
            return merges
        winner = sorted(count, key=lambda pair: (-count[pair], first[pair]))[0]
        merges[winner] = 256 + step
        shorter, i = [], 0
        while i < len(ids):
            if tuple(ids[i : i + 2]) == winner:
                shorter.append(256 + step)
                i += 2
            else:
                shorter.append(ids[i])
                i += 1
        ids = shorter
    return merges


# %% to_str_tokens wrong (misconception as-stored): tokenizer.tokenize gives the stored spelling, with Ġ for the space
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return tokenizer.tokenize(text)


# %% to_str_tokens wrong (difference): decodes all ids at once, then cuts at the spaces
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    return tokenizer.decode(ids).split(" ")


# %% to_str_tokens wrong (misconception only-the-space-translated): subtle, stored spelling with Ġ replaced by a space; shows with accents, emoji and line breaks
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    pieces = tokenizer.convert_ids_to_tokens(tokenizer.encode(text))
    return [piece.replace("Ġ", " ") for piece in pieces]


# %% to_str_tokens wrong (misconception each-token-once): subtle, collects the texts in a dict by id; shows when a token occurs twice
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    str_tokens = {}
    for i in tokenizer.encode(text):
        str_tokens[i] = tokenizer.decode(i)
    return list(str_tokens.values())


# %% to_str_tokens wrong (misconception new-text-of-longer-beginnings): subtle, takes what each token adds to the text so far; shows when a character is cut into several tokens
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    str_tokens, before = [], ""
    for n in range(1, len(ids) + 1):
        so_far = tokenizer.decode(ids[:n])
        str_tokens.append(so_far[len(before):])
        before = so_far
    return str_tokens


# %% to_str_tokens right (passed): decodes each id in a list comprehension
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i) for i in tokenizer.encode(text)]


# %% to_str_tokens right (passed): loop over slices of one id, decoded as lists
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    str_tokens = []
    for n in range(len(ids)):
        str_tokens.append(tokenizer.decode(ids[n : n + 1]))
    return str_tokens


# %% next_token_probs wrong (misconception over-positions): softmax over the positions, then the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits.softmax(dim=1)[:, -1]


# %% next_token_probs wrong (misconception last-text): takes the last text instead of the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits[-1].softmax(dim=-1)


# %% next_token_probs wrong (misconception first-text-in-a-batch): subtle, only the first text; shows when there are several texts
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[0, -1]
    return last.softmax(dim=-1).unsqueeze(0)


# %% next_token_probs wrong (misconception one-sum-for-all): subtle, divides by the sum over the whole batch; shows when there are several texts
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1]
    powers = torch.exp(last - last.max())
    return powers / powers.sum()


# %% next_token_probs wrong (difference places): subtle, limits the logits to 50 so that exp cannot overflow; shows when logits are above 50
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    powers = logits[:, -1, :].clamp(max=50).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


# %% next_token_probs right (passed): last position, then softmax over the vocabulary
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits[:, -1].softmax(dim=-1)


# %% next_token_probs right (passed): unbinds the positions, subtracts the maximum of each row, exp and division by hand
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    *_, last = logits.unbind(dim=1)
    powers = torch.exp(last - last.amax(dim=1, keepdim=True))
    return torch.einsum("bv,b->bv", powers, 1 / powers.sum(dim=1))


# %% generate wrong (misconception only-the-new): returns only the new tokens
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    new_tokens = []
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        new_tokens.append(new)
        tokens = torch.cat([tokens, new], dim=1)
    return torch.cat(new_tokens, dim=1)


# %% generate wrong (misconception every-position): forgets to take the last position, so each round appends a guess for every position
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        new = model(tokens).logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate wrong (misconception first-text-only): subtle, appends the first text's token to all texts; shows when there are several texts
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        best = model(tokens).logits[0, -1].argmax()
        tokens = torch.cat([tokens, best.expand(len(tokens), 1)], dim=1)
    return tokens


# %% generate wrong (shape): subtle, stops as soon as every text has got the same token twice in a row; shows when the model repeats a token
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        if (new == tokens[:, -1]).all():
            break  # the model only repeats itself
        tokens = torch.cat([tokens, new[:, None]], dim=1)
    return tokens


# %% generate wrong (misconception only-the-newest): subtle, after the first round the model reads only the newest token; shows when n_tokens is above 1
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    read = tokens
    for _ in range(n_tokens):
        read = model(read).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, read], dim=1)
    return tokens


# %% generate right (passed): loop with argmax at the last position and cat
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        logits = model(tokens).logits
        new = logits[:, -1, :].argmax(dim=-1)
        tokens = torch.cat([tokens, new.unsqueeze(1)], dim=1)
    return tokens


# %% generate right (passed): makes the whole table first and fills it column by column, with topk
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    batch, seq = tokens.shape
    result = tokens.new_zeros(batch, seq + n_tokens)
    result[:, :seq] = tokens
    for end in range(seq, seq + n_tokens):
        scores = model(result[:, :end]).logits[:, end - 1]
        result[:, end] = scores.topk(1, dim=-1).indices[:, 0]
    return result


# %% sample wrong (misconception temperature-upside-down): multiplies by the temperature
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits * temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    scaled = scaled.masked_fill(scaled < kth, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    probs = scaled.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% sample wrong (misconception place-not-token): returns the place in the list of the top k, not the token
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


# %% sample wrong (misconception first-texts-cut): subtle, uses the first row's k-th best logit for all rows; shows when there are several rows
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(top_k, dim=-1).values[0, -1]
    kept = torch.where(scaled >= kth, scaled, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    probs = kept.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


# %% sample wrong (property draws_from_its_generator): subtle, all rows share one random number, so they are not independent; shows when there are several rows
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    scaled = scaled.masked_fill(scaled < kth, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    cumulative = scaled.softmax(dim=-1).cumsum(dim=-1)
    u = torch.rand(1, generator=generator) * cumulative[:, -1:]
    return (cumulative <= u).sum(dim=-1)


# %% sample wrong (property sizes): subtle, takes the most likely token at temperatures below 0.1; shows when the best logits are equal or close
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    if temperature < 0.1:
        return logits.argmax(dim=-1)  # practically greedy
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    scaled = scaled.masked_fill(scaled < kth, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    probs = scaled.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


# %% sample right (passed): topk, masked_fill, softmax and multinomial
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[:, -1:]
    scaled = scaled.masked_fill(logits < kth, -torch.inf)

    # Sampling: make probabilities, and sample one token for each row.
    probs = torch.softmax(scaled, dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


# %% sample right (passed): sorts to find the k-th logit; divides the probabilities by exponential noise and takes the largest
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = (logits - logits.amax(dim=-1, keepdim=True)) / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    ranked, _ = logits.sort(dim=-1, descending=True)
    kth = ranked[:, :top_k].amin(dim=-1)
    below = logits < kth.unsqueeze(-1)
    scaled = torch.where(below, float("-inf"), scaled)

    # Sampling: make probabilities, and sample one token for each row.
    probs = torch.softmax(scaled, dim=-1)
    noise = torch.empty_like(probs).exponential_(generator=generator)
    return (probs / noise).argmax(dim=-1)


