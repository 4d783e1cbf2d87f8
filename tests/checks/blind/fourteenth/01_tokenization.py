# %% count_pairs wrong (misconception last-pair-missed): stops one pair too early, so the last pair is never counted
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(len(ids) - 2):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (misconception two-by-two): steps by two, so that the pairs do not overlap
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(0, len(ids) - 1, 2):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (property first_met_first): the most frequent pair comes first; shows in the order if a later pair is more frequent than an earlier pair
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    return dict(Counter(zip(ids, ids[1:])).most_common())


# %% count_pairs wrong (property starts_anew): the dict is a default argument and keeps the counts of earlier calls; shows from the second call on
def count_pairs(ids: list[int], counts={}) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    for left, right in zip(ids, ids[1:]):
        counts[left, right] = counts.get((left, right), 0) + 1
    return counts


# %% count_pairs wrong (raised): turns the ids into bytes first; shows (ValueError) if an id is above 255, as after the first merge
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    data = bytes(ids)
    counts = {}
    for i in range(len(data) - 1):
        pair = tuple(data[i : i + 2])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs right (passed): a Counter over the zip of neighbours, as a dict
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    from collections import Counter

    return dict(Counter(zip(ids, ids[1:])))


# %% count_pairs right (passed): a loop over indices, with an if for new pairs
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    result = {}
    for i in range(1, len(ids)):
        key = (ids[i - 1], ids[i])
        if key not in result:
            result[key] = 0
        result[key] += 1
    return result


# %% merge wrong (misconception second-left-behind): forgets to skip the second id of the pair, so it stays in the list after new_id
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    result = []
    for i in range(len(ids)):
        if i < len(ids) - 1 and (ids[i], ids[i + 1]) == pair:
            result.append(new_id)
        else:
            result.append(ids[i])
    return result


# %% merge wrong (misconception last-lost): the loop ends at the last but one id, so a last id that is not merged is lost
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    result, i = [], 0
    while i < len(ids) - 1:
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            result.append(new_id)
            i += 2
        else:
            result.append(ids[i])
            i += 1
    return result


# %% merge wrong (misconception changes-its-input): replaces the pair inside the list ids itself; shows in the caller's list whenever the pair occurs
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    i = 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == tuple(pair):
            ids[i : i + 2] = [new_id]
        i += 1
    return ids


# %% merge wrong (misconception as-a-string): replaces in a text of numbers; shows if the pair's digits occur inside longer numbers, as (1, 2) in 11 2
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    text = " ".join(str(i) for i in ids)
    text = text.replace(f"{pair[0]} {pair[1]}", str(new_id))
    return [int(piece) for piece in text.split()]


# %% merge wrong (misconception from-the-right): goes through the ids from the right; shows if a pair of two equal ids occurs in a run of odd length, as (7, 7) in 7 7 7
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    result, i = list(ids), len(ids) - 2
    while i >= 0:
        if (result[i], result[i + 1]) == tuple(pair):
            result[i : i + 2] = [new_id]
            i -= 1
        i -= 1
    return result


# %% merge right (passed): a while loop that moves on by two after a merge
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    result, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and ids[i] == pair[0] and ids[i + 1] == pair[1]:
            result.append(new_id)
            i += 2
        else:
            result.append(ids[i])
            i += 1
    return result


# %% merge right (passed): remembers an id that waits for its partner, in one for loop
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    left, right = pair
    result, waiting = [], False
    for token in ids:
        if waiting and token == right:
            result.append(new_id)
            waiting = False
            continue
        if waiting:
            result.append(left)
        waiting = token == left
        if not waiting:
            result.append(token)
    if waiting:
        result.append(left)
    return result


# %% train_bpe wrong (misconception counted-once): counts the pairs only once, at the start, so merged ids never become part of a pair
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    counts = count_pairs(list(text.encode()))
    best = sorted(counts, key=counts.get, reverse=True)[:n_merges]
    return {pair: 256 + i for i, pair in enumerate(best)}


# %% train_bpe wrong (misconception ids-one-late): the first new id is 257 instead of 256
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode()), {}
    for step in range(1, n_merges + 1):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        merges[pair] = 256 + step
        ids = merge(ids, pair, 256 + step)
    return merges


# %% train_bpe wrong (misconception only-what-repeats): stops when no pair occurs twice; shows if n_merges is so large that only single pairs are left
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode()), {}
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


# %% train_bpe wrong (misconception characters-for-bytes): starts from the code points instead of the bytes; shows if the text has characters outside ASCII
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = [ord(character) for character in text], {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        merges[pair] = new_id
        ids = merge(ids, pair, new_id)
    return merges


# %% train_bpe wrong (property most_frequent_first): counts the pair of two equal ids without overlap; shows in runs such as aaa, if the missing count changes the winner
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = list(text.encode()), {}
    for new_id in range(256, 256 + n_merges):
        counts, last = {}, {}
        for i, pair in enumerate(zip(ids, ids[1:])):
            if last.get(pair) != i - 1:
                counts[pair] = counts.get(pair, 0) + 1
                last[pair] = i
        if not counts:
            break
        pair = max(counts, key=counts.get)
        merges[pair] = new_id
        ids = merge(ids, pair, new_id)
    return merges


# %% train_bpe right (passed): count_pairs, max and merge in a for loop, stops when no pair is left
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode("utf-8"))
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        winner = max(counts, key=counts.get)
        ids = merge(ids, winner, new_id)
        merges[winner] = new_id
    return merges


# %% train_bpe right (passed): counts and merges by itself, with a while loop and without the earlier functions
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids, merges = [*bytes(text, "utf-8")], {}
    while len(merges) < n_merges and len(ids) > 1:
        counts, best = {}, None
        for pair in zip(ids, ids[1:]):
            counts[pair] = counts.get(pair, 0) + 1
        for pair, count in counts.items():
            if best is None or count > counts[best]:
                best = pair
        new_id = 256 + len(merges)
        merges[best] = new_id
        shorter = []
        for token in ids:
            shorter.append(token)
            if tuple(shorter[-2:]) == best:
                shorter[-2:] = [new_id]
        ids = shorter
    return merges


# %% to_str_tokens wrong (misconception as-stored): returns the names in the vocabulary, with Ġ for a space, instead of the text
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return tokenizer.convert_ids_to_tokens(tokenizer.encode(text))


# %% to_str_tokens wrong (misconception characters): decodes all ids together and cuts the text into letters
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return list(tokenizer.decode(tokenizer.encode(text)))


# %% to_str_tokens wrong (misconception new-text-of-longer-beginnings): takes what each id adds to the decoded text so far; shows if a character is cut into several tokens (emoji)
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces, before = [], ""
    for n in range(1, len(ids) + 1):
        now = tokenizer.decode(ids[:n])
        pieces.append(now[len(before) :])
        before = now
    return pieces


# %% to_str_tokens wrong (misconception each-token-once): collects the pieces in a dict by id; shows if a token occurs twice, because it is listed only once
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    pieces = {i: tokenizer.decode([i]) for i in tokenizer.encode(text)}
    return list(pieces.values())


# %% to_str_tokens wrong (misconception end-left-out): leaves out the special token; shows if the text contains <|endoftext|>
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i) for i in tokenizer.encode(text) if i != tokenizer.eos_token_id]


# %% to_str_tokens right (passed): decodes each id by itself in a comprehension
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i) for i in tokenizer.encode(text)]


# %% to_str_tokens right (passed): a loop that decodes lists of one id
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces = []
    for place in range(len(ids)):
        pieces.append(tokenizer.decode(ids[place : place + 1]))
    return pieces


# %% next_token_probs wrong (misconception over-positions): the softmax runs along the positions (dim=1) instead of the vocabulary
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits.softmax(dim=1)[:, -1]


# %% next_token_probs wrong (misconception first-position): takes the first position instead of the last
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits[:, 0].softmax(dim=-1)


# %% next_token_probs wrong (difference places): takes the last rows of all positions of all texts; shows with two or more texts
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    batch, seq, vocab = logits.shape
    return logits.reshape(-1, vocab)[-batch:].softmax(dim=-1)


# %% next_token_probs wrong (misconception one-sum-for-all): divides by the sum over all texts; shows with two or more texts
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1]
    powers = torch.exp(last - last.max())
    return powers / powers.sum()


# %% next_token_probs wrong (raised): leaves out the first position before it takes the last; shows (IndexError) for texts of one token
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    next_logits = logits[:, 1:]  # the logits at position j score token j + 1
    return next_logits[:, -1].softmax(dim=-1)


# %% next_token_probs right (passed): the last position, then softmax over the vocabulary
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits[:, -1].softmax(dim=-1)


# %% next_token_probs right (passed): its own softmax of each row, with the row's maximum subtracted
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits.select(1, logits.shape[1] - 1)
    powers = torch.exp(last - last.max(dim=1, keepdim=True).values)
    return powers / powers.sum(dim=1, keepdim=True)


# %% generate wrong (misconception no-feedback): the model gets the prompt in every round, so all new tokens are the same
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    result = tokens
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        result = torch.cat([result, new], dim=1)
    return result


# %% generate wrong (misconception only-the-new): returns only the new tokens, without the text before them
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    start = tokens.shape[1]
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens[:, start:]


# %% generate wrong (misconception first-text-only): chooses the best token of the first text for all texts; shows with two or more texts
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        best = model(tokens).logits[0, -1].argmax()
        new = best.expand(tokens.shape[0], 1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate wrong (misconception stops-at-the-end): stops when every text has written <|endoftext|>; shows if the model writes the id 50256 before the last round
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
        if (new == 50256).all():
            break
    return tokens


# %% generate wrong (misconception window): the model sees only as many tokens as the prompt had, not the whole text; shows if n_tokens is above 1
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    length = tokens.shape[1]
    for _ in range(n_tokens):
        new = model(tokens[:, -length:]).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate right (passed): a loop of argmax and torch.cat
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        logits = model(tokens).logits[:, -1]
        tokens = torch.cat([tokens, logits.argmax(dim=-1)[:, None]], dim=1)
    return tokens


# %% generate right (passed): fills a table that is made before the loop
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    batch, seq = tokens.shape
    result = tokens.new_zeros(batch, seq + n_tokens)
    result[:, :seq] = tokens
    with torch.no_grad():
        for place in range(seq, seq + n_tokens):
            logits = model(result[:, :place].clone()).logits
            result[:, place] = logits[:, -1, :].max(dim=-1).indices
    return result


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
    probs = best.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% sample wrong (misconception temperature-upside-down): multiplies the logits by the temperature
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


# %% sample wrong (difference): one limit for all rows, the smallest k-th best logit; shows with two or more rows of different height
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth = logits.topk(top_k, dim=-1).values.min()
    logits = logits.masked_fill(logits < kth, float("-inf"))

    # Sampling: make probabilities, and sample one token for each row.
    probs = logits.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)


# %% sample wrong (property draws_from_its_generator): sets the generator back to its seed; shows from the second call with the same generator on
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
    generator.manual_seed(generator.initial_seed())
    probs = logits.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)


# %% sample wrong (misconception naive-exponential): a hand-written exp without the maximum; shows (overflow) at a low temperature or with large logits
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
    powers = torch.exp(logits)
    probs = powers / powers.sum(dim=-1, keepdim=True)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)


# %% sample right (passed): topk, masked_fill and multinomial over all rows
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    k = min(top_k, scaled.shape[-1])
    kth = scaled.topk(k, dim=-1).values[:, -1:]
    scaled = scaled.masked_fill(scaled < kth, float("-inf"))

    # Sampling: make probabilities, and sample one token for each row.
    probs = scaled.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)


# %% sample right (passed): sorts each row for the limit, and samples row by row
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    divided = torch.div(logits, temperature)

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    ordered = divided.sort(dim=-1, descending=True).values
    limits = ordered[:, min(top_k, divided.shape[-1]) - 1]
    allowed = divided >= limits[:, None]

    # Sampling: make probabilities, and sample one token for each row.
    chosen = []
    for row, keep in zip(divided, allowed):
        probs = torch.softmax(torch.where(keep, row, torch.full_like(row, -torch.inf)), dim=0)
        chosen.append(torch.multinomial(probs, 1, generator=generator))
    return torch.cat(chosen)
