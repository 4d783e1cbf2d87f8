# %% count_pairs wrong (misconception two-by-two): steps by 2 through the ids, so only every second pair of neighbours is counted ([7, 7, 7] gives 1)
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(0, len(ids) - 1, 2):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (misconception starts-at-zero): a new pair is entered with 0 instead of 1, so every count is one too low
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for left, right in zip(ids, ids[1:]):
        if (left, right) in counts:
            counts[(left, right)] += 1
        else:
            counts[(left, right)] = 0
    return counts


# %% count_pairs wrong (misconception wraps-around): the loop starts at i = 0 with ids[i - 1], which is the last id, so an extra pair (last, first) is counted, even for a single id
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(len(ids)):
        pair = (ids[i - 1], ids[i])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs wrong (property first_met_first): most_common sorts the pairs by their count, so the dict is not in the order in which the pairs first occur (the counts are right)
from collections import Counter


def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    return dict(Counter(zip(ids, ids[1:])).most_common())


# %% count_pairs wrong (property starts_anew): the dict is created once outside the function, so a second call adds to the counts of the first call
pair_counts = {}


def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    for pair in zip(ids, ids[1:]):
        if pair not in pair_counts:
            pair_counts[pair] = 0
        pair_counts[pair] += 1
    return pair_counts


# %% count_pairs right (passed): index loop over neighbours with dict.get
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    counts = {}
    for i in range(len(ids) - 1):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


# %% count_pairs right (passed): collections.Counter over zip of the list with itself shifted, turned into a dict
from collections import Counter


def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """Count how often each pair of neighbours occurs in ids, in the order in which the pairs first occur."""
    return dict(Counter(zip(ids, ids[1:])))


# %% merge wrong (misconception second-left-behind): after a merge the position moves on by 1 instead of 2, so the right id of each merged pair stays in the result
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    for i in range(len(ids)):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            merged.append(new_id)
        else:
            merged.append(ids[i])
    return merged


# %% merge wrong (misconception first-only): returns after the first occurrence of the pair, so all later occurrences stay unmerged
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    for i in range(len(ids) - 1):
        if (ids[i], ids[i + 1]) == pair:
            return ids[:i] + [new_id] + ids[i + 2 :]
    return list(ids)


# %% merge wrong (misconception changes-its-input): replaces slices of the list ids itself and returns it, so the result is right but the caller's list is changed
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    i = 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == pair:
            ids[i : i + 2] = [new_id]
        i += 1
    return ids


# %% merge wrong (misconception from-the-right): goes through the ids from the right instead of the left, so [7, 7, 7] with the pair (7, 7) becomes [7, 256] instead of [256, 7]
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    i = len(ids) - 1
    while i >= 0:
        if i > 0 and (ids[i - 1], ids[i]) == pair:
            merged.append(new_id)
            i -= 2
        else:
            merged.append(ids[i])
            i -= 1
    return merged[::-1]


# %% merge wrong (raised): reads ids[i + 1] without testing for the end, so it raises IndexError when the last id equals the left id of the pair
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    merged = []
    i = 0
    while i < len(ids):
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


# %% merge right (passed): while loop with a position that moves on by one or two
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


# %% merge right (passed): for loop with enumerate and a flag that skips the id after a merge
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Return the ids with new_id in place of the pair, wherever the pair occurs; do not change the list ids."""
    result, skip = [], False
    for position, current in enumerate(ids):
        if skip:
            skip = False
        elif tuple(ids[position : position + 2]) == tuple(pair):
            result.append(new_id)
            skip = True
        else:
            result.append(current)
    return result


# %% train_bpe wrong (misconception counted-once): counts the pairs only once, in the bytes, and takes the n most frequent of them; nothing is merged and counted again, so no id is ever part of a later pair
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
        if not counts:
            break
        pair = max(counts, key=counts.get)
        merges[new_id] = pair
        ids = merge(ids, pair, new_id)
    return merges


# %% train_bpe wrong (misconception characters-for-bytes): starts from ord of each character instead of the bytes, which is the same for plain English but wrong for é or emojis
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


# %% train_bpe wrong (misconception ties-to-the-largest): in a tie the pair with the larger numbers wins instead of the pair that occurs first
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        count, pair = max((count, pair) for pair, count in counts.items())
        merges[pair] = new_id
        ids = merge(ids, pair, new_id)
    return merges


# %% train_bpe wrong (misconception only-what-repeats): stops as soon as the winner occurs only once, so a short text gets fewer merges than n_merges although pairs are left
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


# %% train_bpe right (passed): for loop over the new ids, winner by max with key
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode("utf-8"))
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        ids = merge(ids, pair, new_id)
        merges[pair] = new_id
    return merges


# %% train_bpe right (passed): while loop, the winner is searched by hand with a strict comparison, the new id is 256 plus the number of merges so far
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """Return the first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    sequence = [byte for byte in text.encode()]
    table = {}
    while len(table) < n_merges:
        winner, most = None, 0
        for pair, count in count_pairs(sequence).items():
            if count > most:
                winner, most = pair, count
        if winner is None:
            return table
        table[winner] = 256 + len(table)
        sequence = merge(sequence, winner, table[winner])
    return table


# %% to_str_tokens wrong (difference): splits the text at spaces instead of using the tokenizer, so words are not cut and the spaces are lost
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return text.split(" ")


# %% to_str_tokens wrong (misconception text-again): decodes all ids together, so it returns the whole text as one string instead of a list with a string for each token
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    return tokenizer.decode(ids)


# %% to_str_tokens wrong (misconception only-the-space-translated): looks the tokens up in the vocabulary and only turns Ġ into a space, so a newline shows as Ċ and é or emojis as other characters instead of their text or �
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    names = {number: token for token, number in tokenizer.get_vocab().items()}
    return [names[number].replace("Ġ", " ") for number in tokenizer.encode(text)]


# %% to_str_tokens wrong (misconception new-text-of-longer-beginnings): each token's text is what decoding one more id adds to the length of the decoded text, so a token that ends a cut character becomes an empty string instead of �
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    ids = tokenizer.encode(text)
    pieces, so_far = [], ""
    for n in range(1, len(ids) + 1):
        longer = tokenizer.decode(ids[:n])
        pieces.append(longer[len(so_far) :])
        so_far = longer
    return pieces


# %% to_str_tokens wrong (misconception each-token-once): collects the pieces in a dict keyed by id, so a token that occurs twice in the text appears only once
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    pieces = {i: tokenizer.decode([i]) for i in tokenizer.encode(text)}
    return list(pieces.values())


# %% to_str_tokens right (passed): list comprehension that decodes each id alone
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    return [tokenizer.decode(i) for i in tokenizer.encode(text)]


# %% to_str_tokens right (passed): loop with append that decodes a list of one id
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """Return the text of each token, in order."""
    pieces = []
    for token_id in tokenizer.encode(text):
        piece = tokenizer.decode([token_id])
        pieces.append(piece)
    return pieces


# %% next_token_probs wrong (misconception over-positions): the softmax runs over axis 1, the positions, so the returned rows do not sum to one over the vocabulary
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits.softmax(dim=1)[:, -1]


# %% next_token_probs wrong (misconception last-but-one): takes the second to last position, so it returns the probabilities of the text's last token instead of the token after it
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits[:, -2].softmax(dim=-1)


# %% next_token_probs wrong (misconception loses-the-batch): squeeze at the end removes the batch axis of a single text, so the shape is [vocab] instead of [1, vocab]
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1:, :]
    return torch.softmax(last, dim=-1).squeeze()


# %% next_token_probs wrong (difference milestone): divides by the sum over the whole batch (sum without dim), so with two or more texts no row sums to one
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    last = logits[:, -1]
    powers = torch.exp(last - last.max(dim=-1, keepdim=True).values)
    return powers / powers.sum()


# %% next_token_probs wrong (misconception first-text-in-a-batch): uses only the first text (index 0), so a batch of several texts gives one row instead of one row each
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits[0, -1].softmax(dim=-1).unsqueeze(0)


# %% next_token_probs right (passed): softmax of the last position over the vocabulary
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    return logits[:, -1].softmax(dim=-1)


# %% next_token_probs right (passed): a loop over the texts, each with a hand-written softmax after subtracting its maximum
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """Return, for each text, the probability of every token to come after the last position."""
    rows = []
    for text_logits in logits:
        final = text_logits[-1]
        powers = torch.exp(final - final.max())
        rows.append(powers / powers.sum())
    return torch.stack(rows)


# %% generate wrong (misconception only-the-new): returns only the new tokens, without the texts they continue
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    new_tokens = []
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        new_tokens.append(new)
        tokens = torch.cat([tokens, new], dim=1)
    return torch.cat(new_tokens, dim=1)


# %% generate wrong (misconception no-feedback): calls the model once before the loop, so the model never reads its own tokens and the same token is appended n_tokens times
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    new = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
    for _ in range(n_tokens):
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate wrong (misconception first-text-only): takes the best token of the first text only and appends it to every text, so the other texts of a batch get the first text's tokens
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        best = model(tokens).logits[0, -1].argmax()
        column = best.expand(tokens.shape[0], 1)
        tokens = torch.cat([tokens, column], dim=1)
    return tokens


# %% generate wrong (misconception stops-at-the-end): stops when every text has just got <|endoftext|> (50256), so the result is shorter than seq + n_tokens although no token may end the loop
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
        if (new == 50256).all():
            break
    return tokens


# %% generate wrong (misconception only-the-newest): from the second round on the model gets only the newest token instead of the whole text, so everything after the first new token is wrong
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    current = tokens
    for _ in range(n_tokens):
        current = model(current).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, current], dim=1)
    return tokens


# %% generate right (passed): loop with argmax keepdim and torch.cat
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        last_logits = model(tokens).logits[:, -1]
        best = last_logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, best], dim=1)
    return tokens


# %% generate right (passed): a tensor for the whole result is made first and filled column by column without gradients, the best token comes from topk
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """Continue each text greedily by n_tokens tokens."""
    batch, seq = tokens.shape
    result = tokens.new_zeros(batch, seq + n_tokens)
    result[:, :seq] = tokens
    with torch.no_grad():
        for end in range(seq, seq + n_tokens):
            scores = model(result[:, :end]).logits
            result[:, end] = scores[:, -1, :].topk(1, dim=-1).indices[:, 0]
    return result


# %% sample wrong (misconception temperature-upside-down): multiplies the logits by the temperature instead of dividing, so a low temperature makes the choice more random
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
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


# %% sample wrong (misconception zero-instead-of-never): sets the logits below the k-th best to 0 instead of -inf, so the tokens outside the top k keep a probability and can be sampled
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
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


# %% sample wrong (difference): kthvalue counts from the smallest logit, so the threshold is the k-th worst logit and only the k - 1 worst tokens are ruled out
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    threshold = logits.kthvalue(top_k, dim=-1, keepdim=True).values
    logits = logits.masked_fill(logits < threshold, float("-inf"))

    # Sampling: make probabilities, and sample one token for each row.
    probs = logits.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


# %% sample wrong (property draws_from_its_generator): makes a new generator from the initial seed of the given one in every call, so each call starts the random numbers over and a second call repeats the first
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
    own_generator = torch.Generator().manual_seed(generator.initial_seed())
    return torch.multinomial(probs, 1, generator=own_generator).squeeze(1)


# %% sample wrong (property draws_from_its_generator): draws one random number and uses it for all rows, so rows with the same logits always get the same token instead of being sampled independently
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
    cumulative = logits.softmax(dim=-1).cumsum(dim=-1)
    dart = torch.rand(1, generator=generator)
    return (cumulative < dart).sum(dim=-1).clamp(max=logits.shape[-1] - 1)


# %% sample right (passed): topk threshold, masked_fill with -inf, one multinomial for the whole batch
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    scaled = logits / temperature

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    kth_best = scaled.topk(top_k, dim=-1).values[:, -1:]
    allowed = scaled.masked_fill(scaled < kth_best, float("-inf"))

    # Sampling: make probabilities, and sample one token for each row.
    probs = torch.softmax(allowed, dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


# %% sample right (passed): threshold from a full sort, torch.where, and a loop that draws one token per row from the same generator
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """Sample one token for each row independently, from its top_k most likely tokens at this temperature."""
    # Temperature: let it act on the logits.
    logits = logits * (1 / temperature)

    # Top-k: find the k-th best logit of each row, and rule out every token below it.
    k = min(top_k, logits.shape[-1])
    threshold = torch.sort(logits, dim=-1, descending=True).values[:, k - 1].unsqueeze(1)
    logits = torch.where(logits >= threshold, logits, torch.full_like(logits, float("-inf")))

    # Sampling: make probabilities, and sample one token for each row.
    chosen = []
    for row in logits:
        chosen.append(torch.multinomial(row.softmax(dim=0), 1, generator=generator))
    return torch.cat(chosen)
