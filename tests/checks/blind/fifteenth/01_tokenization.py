# %% count_pairs wrong (misconception two-by-two): walks in steps of two, so overlapping pairs are not counted
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(0, len(ids) - 1, 2):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (misconception starts-at-zero): starts a new pair with the count 0, so every count is one too small
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for pair in zip(ids, ids[1:]):
        if pair in counts:
            counts[pair] += 1
        else:
            counts[pair] = 0
    return counts


# %% count_pairs wrong (property first_met_first): subtle, most_common sorts by count; the order is wrong when a later pair is more frequent than an earlier one
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    return dict(Counter(zip(ids, ids[1:])).most_common())


# %% count_pairs wrong (property starts_anew): subtle, a mutable default argument keeps the counts of earlier calls; shows at the second call
def count_pairs(ids: list[int], counts={}) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (raised): subtle, reads the first id before the loop; raises IndexError for an empty list instead of returning an empty dict
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    last = ids[0]
    for current in ids[1:]:
        counts[last, current] = counts.get((last, current), 0) + 1
        last = current
    return counts


# %% count_pairs right (passed): Counter over zip, turned into a plain dict
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    return dict(Counter(zip(ids[:-1], ids[1:])))


# %% count_pairs right (passed): first a dict of zeros in the order of first occurrence, then an index loop
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    pairs = [(ids[i], ids[i + 1]) for i in range(len(ids) - 1)]
    counts = dict.fromkeys(pairs, 0)
    for pair in pairs:
        counts[pair] += 1
    return counts


# %% merge wrong (misconception second-left-behind): does not skip the second id of the pair, so it stays behind the new id
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    result = []
    for i in range(len(ids)):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            result.append(new_id)
        else:
            result.append(ids[i])
    return result


# %% merge wrong (misconception last-lost): the loop ends before the last id, which is lost unless it belongs to a pair
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    result, i = [], 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == pair:
            result.append(new_id)
            i += 2
        else:
            result.append(ids[i])
            i += 1
    return result


# %% merge wrong (misconception overlapping): subtle, replaces overlapping occurrences too; [7, 7, 7] becomes two new ids
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    starts = {i for i in range(len(ids) - 1) if (ids[i], ids[i + 1]) == pair}
    return [new_id if i in starts else ids[i] for i in range(len(ids)) if i in starts or i - 1 not in starts]


# %% merge wrong (misconception as-a-string): subtle, replaces in a text of numbers; shows when a pair matches the end and the beginning of longer numbers, as (4, 10) in [4, 104]
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    line = " ".join(str(i) for i in ids)
    line = line.replace(f"{pair[0]} {pair[1]}", str(new_id))
    return [int(number) for number in line.split()]


# %% merge wrong (misconception changes-its-input): subtle, the result is right, but the caller's list is changed
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    i = 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == pair:
            ids[i : i + 2] = [new_id]
        i += 1
    return list(ids)


# %% merge right (passed): a while loop with a step of one or two
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    result, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == tuple(pair):
            result.append(new_id)
            i += 2
        else:
            result.append(ids[i])
            i += 1
    return result


# %% merge right (passed): builds the result as a stack and remembers whether its top is an original id
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    left, right = pair
    result, fresh = [], False
    for current in ids:
        if fresh and result[-1] == left and current == right:
            result[-1] = new_id
            fresh = False
        else:
            result.append(current)
            fresh = True
    return result


# %% train_bpe wrong (misconception counted-once): counts only once, and merges the most frequent pairs of the original bytes
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    counts = count_pairs(list(text.encode()))
    best = sorted(counts, key=counts.get, reverse=True)[:n_merges]
    return {pair: 256 + i for i, pair in enumerate(best)}


# %% train_bpe wrong (property most_frequent_first): the new id is one above the largest id in the text, instead of from 256 upwards
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode()), {}
    for _ in range(n_merges):
        counts = count_pairs(ids)
        pair = max(counts, key=counts.get)
        merges[pair] = max(ids) + 1
        ids = merge(ids, pair, merges[pair])
    return merges


# %% train_bpe wrong (misconception characters-for-bytes): subtle, starts from code points instead of bytes; shows for text that is not ASCII
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = [ord(character) for character in text], {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        pair = max(counts, key=counts.get)
        ids = merge(ids, pair, new_id)
        merges[pair] = new_id
    return merges


# %% train_bpe wrong (misconception only-what-repeats): subtle, stops when no pair occurs twice; shows when a winner occurs only once
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode()), {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        pair = max(counts, key=counts.get, default=None)
        if pair is None or counts[pair] < 2:
            break
        ids = merge(ids, pair, new_id)
        merges[pair] = new_id
    return merges


# %% train_bpe wrong (property most_frequent_first): subtle, str.count does not count overlapping pairs; shows for runs such as "aaaa"
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode()), {}
    for new_id in range(256, 256 + n_merges):
        line = "".join(chr(i) for i in ids)
        pairs = dict.fromkeys(zip(ids, ids[1:]))
        if not pairs:
            break
        pair = max(pairs, key=lambda p: line.count(chr(p[0]) + chr(p[1])))
        ids = merge(ids, pair, new_id)
        merges[pair] = new_id
    return merges


# %% train_bpe right (passed): count, take the winner, merge, in a for loop
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode()), {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        winner = max(counts, key=counts.get)
        merges[winner] = new_id
        ids = merge(ids, winner, new_id)
    return merges


# %% train_bpe right (passed): does not use count_pairs or merge; finds the first pair with the highest count in a loop of its own
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode("utf-8"))
    merges = {}
    while len(merges) < n_merges and len(ids) > 1:
        counts = {}
        for pair in zip(ids, ids[1:]):
            counts[pair] = counts.get(pair, 0) + 1
        best, most = None, 0
        for pair, count in counts.items():
            if count > most:
                best, most = pair, count
        new_id = 256 + len(merges)
        merges[best] = new_id
        shorter, i = [], 0
        while i < len(ids):
            if i + 1 < len(ids) and ids[i] == best[0] and ids[i + 1] == best[1]:
                shorter.append(new_id)
                i += 2
            else:
                shorter.append(ids[i])
                i += 1
        ids = shorter
    return merges


# %% to_str_tokens wrong (difference): cuts the text at spaces and never asks the tokenizer
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return text.split(" ")


# %% to_str_tokens wrong (misconception spaces-stripped): strips each token, so the space that belongs to a token is lost
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode([i]).strip() for i in tokenizer.encode(text)]


# %% to_str_tokens wrong (misconception each-token-once): subtle, collects the tokens in a dict from id to text; shows when a token occurs twice in the text
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    pieces = {i: tokenizer.decode([i]) for i in tokenizer.encode(text)}
    return list(pieces.values())


# %% to_str_tokens wrong (difference prefix): subtle, leaves out tokens that are only part of a character; shows for emoji and rare scripts
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    pieces = [tokenizer.decode([i]) for i in tokenizer.encode(text)]
    return [piece for piece in pieces if "\ufffd" not in piece]


# %% to_str_tokens wrong (misconception new-text-of-longer-beginnings): subtle, takes what each further id adds to the decoded text; shows when a character is more than one token
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces, before = [], ""
    for n in range(1, len(ids) + 1):
        after = tokenizer.decode(ids[:n])
        pieces.append(after[len(before) :])
        before = after
    return pieces


# %% to_str_tokens right (passed): decodes each id in a list comprehension
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i) for i in tokenizer.encode(text)]


# %% to_str_tokens right (passed): a loop that decodes slices of one id
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces = []
    for start in range(len(ids)):
        pieces.append(tokenizer.decode(ids[start : start + 1]))
    return pieces


# %% next_token_probs wrong (misconception over-the-batch): the softmax runs along the batch instead of the vocabulary
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits[:, -1].softmax(dim=0)


# %% next_token_probs wrong (misconception over-positions): the softmax runs along the positions, then the last position is taken
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits.softmax(dim=1)[:, -1]


# %% next_token_probs wrong (misconception first-text-in-a-batch): subtle, answers only for the first text; shows when the batch has more than one text
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits[0, -1].softmax(dim=-1).unsqueeze(0)


# %% next_token_probs wrong (property sizes): subtle, always takes position 13, the last of the page's 14 tokens; shows for any other length
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, min(13, logits.shape[1] - 1)]
    return last.softmax(dim=-1)


# %% next_token_probs wrong (property sizes): subtle, only the 50 most likely tokens get a probability; shows when the vocabulary has more than 50 tokens
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1]
    best = last.topk(min(50, last.shape[-1]), dim=-1)
    return torch.zeros_like(last).scatter(-1, best.indices, best.values.softmax(dim=-1))


# %% next_token_probs right (passed): softmax over the vocabulary at every position, then the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return torch.softmax(logits, dim=2)[:, -1, :]


# %% next_token_probs right (passed): by hand, with the maximum of each row subtracted
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits.select(1, logits.shape[1] - 1)
    powers = torch.exp(last - last.amax(dim=-1, keepdim=True))
    return powers / powers.sum(dim=-1, keepdim=True)


# %% generate wrong (misconception only-the-new): returns only the new tokens, without the text before them
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    new = []
    for _ in range(n_tokens):
        best = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, best], dim=1)
        new.append(best)
    return torch.cat(new, dim=1)


# %% generate wrong (misconception no-feedback): the model always reads the first text, so the same token is appended again and again
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    longer = tokens
    for _ in range(n_tokens):
        best = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        longer = torch.cat([longer, best], dim=1)
    return longer


# %% generate wrong (misconception first-text-only): subtle, every text gets the next token of the first text; shows when the batch has more than one text
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        best = model(tokens).logits[0, -1].argmax()
        tokens = torch.cat([tokens, best.expand(tokens.shape[0], 1)], dim=1)
    return tokens


# %% generate wrong (misconception stops-at-the-end): subtle, stops when a text writes <|endoftext|> (50256); shows when this token is the most likely one
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        best = model(tokens).logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, best[:, None]], dim=1)
        if (best == 50256).all():
            break
    return tokens


# %% generate wrong (difference): subtle, all new tokens come from one reading, the n best of the last position; shows when n_tokens is above 1
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    best = model(tokens).logits[:, -1].topk(n_tokens, dim=-1).indices
    return torch.cat([tokens, best], dim=1)


# %% generate right (passed): argmax and cat in a loop
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        best = model(tokens).logits[:, -1, :].argmax(dim=-1, keepdim=True)
        tokens = torch.cat((tokens, best), dim=-1)
    return tokens


# %% generate right (passed): fills a table of the final size and shows the model what is filled so far
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    batch, seq = tokens.shape
    result = tokens.new_zeros(batch, seq + n_tokens)
    result[:, :seq] = tokens
    with torch.no_grad():
        for end in range(seq, seq + n_tokens):
            logits = model(result[:, :end].clone()).logits
            result[:, end] = logits[:, end - 1].max(dim=-1).indices
    return result


# %% sample wrong (misconception temperature-upside-down): multiplies by the temperature instead of dividing
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    scores = logits * temperature
    kth = scores.topk(top_k, dim=-1).values[:, -1:]
    scores = scores.masked_fill(scores < kth, float("-inf"))
    return torch.multinomial(scores.softmax(dim=-1), 1, generator=generator)[:, 0]


# %% sample wrong (misconception zero-instead-of-never): tokens outside the top k get the score 0 instead of -inf, and can still be sampled
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    scores = logits / temperature
    kth = scores.topk(top_k, dim=-1).values[:, -1:]
    scores = torch.where(scores < kth, 0.0, scores)
    return torch.multinomial(scores.softmax(dim=-1), 1, generator=generator)[:, 0]


# %% sample wrong (difference): subtle, one k-th best logit for the whole batch, the lowest of all rows; shows when the rows of a batch differ in level
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    scores = logits / temperature
    kth = scores.topk(top_k, dim=-1).values.min()
    scores = scores.masked_fill(scores < kth, float("-inf"))
    return torch.multinomial(scores.softmax(dim=-1), 1, generator=generator)[:, 0]


# %% sample wrong (property draws_from_its_generator): subtle, sets the seed of the generator again; shows at the second call, which repeats the first
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    generator.manual_seed(generator.initial_seed())
    scores = logits / temperature
    kth = scores.topk(top_k, dim=-1).values[:, -1:]
    scores = scores.masked_fill(scores < kth, float("-inf"))
    return torch.multinomial(scores.softmax(dim=-1), 1, generator=generator)[:, 0]


# %% sample wrong (property draws_from_its_generator): subtle, one random number decides for all rows, so rows are not independent; shows in a batch of equal rows
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    scores = logits / temperature
    kth = scores.topk(top_k, dim=-1).values[:, -1:]
    scores = scores.masked_fill(scores < kth, float("-inf"))
    shares = scores.softmax(dim=-1).cumsum(dim=-1)
    chance = torch.rand(1, generator=generator) * shares[:, -1:]
    return torch.searchsorted(shares, chance, right=True)[:, 0].clamp(max=logits.shape[-1] - 1)


# %% sample right (passed): topk for the k-th best logit, masked_fill, softmax, multinomial
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    scores = logits / temperature
    kth = scores.topk(min(top_k, scores.shape[-1]), dim=-1).values[:, -1:]
    scores = scores.masked_fill(scores < kth, float("-inf"))
    probs = scores.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


# %% sample right (passed): sorts each row, rules out with where, and samples row by row
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    k = min(top_k, logits.shape[-1])
    chosen = []
    for row in logits:
        kth = row.sort(descending=True).values[k - 1]
        scores = torch.where(row >= kth, (row - row.max()) / temperature, torch.full_like(row, -torch.inf))
        chosen.append(torch.multinomial(torch.softmax(scores, dim=0), 1, generator=generator))
    return torch.cat(chosen)


