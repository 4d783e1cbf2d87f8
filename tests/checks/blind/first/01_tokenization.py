# %% count_pairs wrong (misconception skips-overlaps): jumps over a pair once it is counted, so overlapping places are missed: [7, 7, 7] gives 1
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    i = 0
    while i < len(ids) - 1:
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
        if i + 2 < len(ids) and (ids[i + 1], ids[i + 2]) == pair:
            i += 2
        else:
            i += 1
    return counts

# %% count_pairs wrong (misconception last-pair-missed): the range ends one too early, the last pair is never counted
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    for i in range(len(ids) - 2):
        pair = (ids[i], ids[i + 1])
        if pair in counts:
            counts[pair] += 1
        else:
            counts[pair] = 1
    return counts

# %% count_pairs wrong (property first_met_first): runs over a set of the pairs, so the keys stand in an arbitrary order, not in the one in which they are first met
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """How often each pair of neighbours stands in ids, in the order in which the pairs are first met."""
    pairs = list(zip(ids, ids[1:]))
    return {pair: pairs.count(pair) for pair in set(pairs)}

# %% count_pairs wrong (property starts_anew): a mutable default argument keeps the counts of earlier calls, so the second call counts too much
def count_pairs(ids: list[int], counts={}) -> dict[tuple[int, int], int]:
    """How often each pair of neighbours stands in ids, in the order in which the pairs are first met."""
    for left, right in zip(ids[:-1], ids[1:]):
        counts[(left, right)] = counts.get((left, right), 0) + 1
    return counts

# %% count_pairs wrong (misconception two-by-two): cuts ids into pairs side by side (0 and 1, 2 and 3), every second pair of neighbours is missing
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    for pair in zip(ids[::2], ids[1::2]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts

# %% count_pairs wrong (raised): the loop runs up to the last id, which has no right neighbour: IndexError
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    for i in range(len(ids)):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts

# %% count_pairs wrong (misconception starts-at-zero): a pair that is met for the first time starts at 0, so all counts are one too small
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    for i in range(1, len(ids)):
        pair = (ids[i - 1], ids[i])
        if pair not in counts:
            counts[pair] = 0
        else:
            counts[pair] += 1
    return counts

# %% count_pairs wrong (property first_met_first): sorted by frequency, the docstring asks for the order in which the pairs are first met
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    """How often each pair of neighbours stands in ids, in the order in which the pairs are first met."""
    from collections import Counter

    return dict(Counter(zip(ids, ids[1:])).most_common())

# %% count_pairs right (passed): a Counter of zip, which is a dict and keeps the order of first meeting
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    from collections import Counter

    return Counter(zip(ids, ids[1:]))

# %% count_pairs right (passed): index loop with try and except
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    table = {}
    position = 0
    while position + 1 < len(ids):
        key = ids[position], ids[position + 1]
        try:
            table[key] += 1
        except KeyError:
            table[key] = 1
        position += 1
    return table

# %% count_pairs right (passed): slow but honest, list.count in a dict comprehension over the list of pairs
def count_pairs(ids):
    pairs = [(ids[i], ids[i + 1]) for i in range(len(ids) - 1)]
    return {p: pairs.count(p) for p in pairs}

# %% count_pairs right (passed): sorts the positions by pair, groups them, and orders the groups by their first position
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    from itertools import groupby

    def pair_at(i):
        return (ids[i], ids[i + 1])

    groups = []
    for pair, places in groupby(sorted(range(len(ids) - 1), key=pair_at), key=pair_at):
        places = list(places)
        groups.append((places[0], pair, len(places)))
    return {pair: n for _, pair, n in sorted(groups)}

# %% merge wrong (misconception second-left-behind): does not step over the second half of the pair, so that half stays in the list
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """A new list, in which new_id stands wherever the pair stood in ids."""
    result = []
    for i in range(len(ids)):
        if i < len(ids) - 1 and (ids[i], ids[i + 1]) == pair:
            result.append(new_id)
        else:
            result.append(ids[i])
    return result

# %% merge wrong (misconception last-lost): the loop ends before the last id, which is lost when it is no part of a pair
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
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

# %% merge wrong (misconception changes-its-input): changes ids in place and returns it, the docstring promises a new list
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """A new list, in which new_id stands wherever the pair stood in ids."""
    i = 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == tuple(pair):
            ids[i : i + 2] = [new_id]
        i += 1
    return ids

# %% merge wrong (misconception as-a-string): replaces in the digits of a joined string, so the pair (4, 101) is also found inside 104 101 and in 4 1015
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """A new list, in which new_id stands wherever the pair stood in ids."""
    line = " ".join(str(i) for i in ids)
    line = line.replace(f"{pair[0]} {pair[1]}", str(new_id))
    return [int(i) for i in line.split()]

# %% merge wrong (misconception from-the-right): reads from the right, [7, 7, 7] becomes [7, new] and not [new, 7]
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    result = list(ids)
    i = len(result) - 2
    while i >= 0:
        if result[i] == pair[0] and result[i + 1] == pair[1]:
            result[i : i + 2] = [new_id]
            i -= 1
        i -= 1
    return result

# %% merge wrong (misconception list-against-tuple): compares a list slice with a tuple, which is never equal, so nothing is ever merged
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    result = []
    i = 0
    while i < len(ids):
        if ids[i : i + 2] == pair:
            result.append(new_id)
            i += 2
        else:
            result.append(ids[i])
            i += 1
    return result

# %% merge wrong (misconception always-256): always puts 256 in, the argument new_id is ignored
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """A new list, in which new_id stands wherever the pair stood in ids."""
    result, skip = [], False
    for left, right in zip(ids, ids[1:] + [None]):
        if skip:
            skip = False
        elif (left, right) == pair:
            result.append(256)
            skip = True
        else:
            result.append(left)
    return result

# %% merge wrong (raised): looks one past the end when the last id is the left half of the pair: IndexError
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """A new list, in which new_id stands wherever the pair stood in ids."""
    merged = []
    i = 0
    while i < len(ids):
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            merged.append(new_id)
            i = i + 2
        else:
            merged.append(ids[i])
            i = i + 1
    return merged

# %% merge right (passed): an iterator over the positions, one step of it is skipped after a hit
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    positions = iter(range(len(ids)))
    out = []
    for i in positions:
        if tuple(ids[i : i + 2]) == tuple(pair):
            out.append(new_id)
            next(positions)
        else:
            out.append(ids[i])
    return out

# %% merge right (passed): str.replace, each id in brackets of its own so that no digits are confused
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    import re

    a, b = pair
    written = "".join(f"<{i}>" for i in ids)
    written = written.replace(f"<{a}><{b}>", f"<{new_id}>")
    return [int(i) for i in re.findall(r"-?\d+", written)]

# %% merge right (passed): a left half is held back until the next id decides what becomes of it
def merge(ids, pair, new_id):
    first, second = pair
    done, waiting = [], False
    for token in ids:
        if waiting and token == second:
            done.append(new_id)
            waiting = False
            continue
        if waiting:
            done.append(first)
        waiting = token == first
        if not waiting:
            done.append(token)
    return done + [first] * waiting

# %% merge right (passed): list.index jumps from candidate to candidate, the pieces between are copied whole
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    left, right = pair
    result, copied, look = [], 0, 0
    while True:
        try:
            hit = ids.index(left, look, len(ids))
        except ValueError:
            return result + ids[copied:]
        if ids[hit + 1 : hit + 2] == [right]:
            result += ids[copied:hit]
            result.append(new_id)
            copied = look = hit + 2
        else:
            look = hit + 1

# %% train_bpe wrong (misconception counted-once): counts once and takes the n_merges most frequent pairs of bytes, nothing is merged or counted again
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """The first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    counts = count_pairs(list(text.encode()))
    best = sorted(counts, key=counts.get, reverse=True)[:n_merges]
    return {pair: 256 + i for i, pair in enumerate(best)}

# %% train_bpe wrong (misconception characters-for-bytes): starts from code points (ord) and not from bytes, which differs for every character outside ASCII
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """The first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = [ord(c) for c in text]
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        ids = merge(ids, pair, new_id)
        merges[pair] = new_id
    return merges

# %% train_bpe wrong (misconception ties-to-the-largest): breaks a tie by the larger pair and not by the one that is met first
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """The first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    while len(merges) < n_merges:
        counts = count_pairs(ids)
        if len(counts) == 0:
            break
        frequency, pair = max((n, p) for p, n in counts.items())
        merges[pair] = 256 + len(merges)
        ids = merge(ids, pair, merges[pair])
    return merges

# %% train_bpe wrong (misconception only-what-repeats): stops as soon as the winner is there only once, though fewer than n_merges merges are made and there are pairs left
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """The first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    ids = list(text.encode())
    merges = {}
    for i in range(n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        if counts[pair] < 2:
            break
        merges[pair] = 256 + i
        ids = merge(ids, pair, 256 + i)
    return merges

# %% train_bpe wrong (misconception never-merged): the merged list is not kept (merge gives a new one), so the same pair wins in each round
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids = list(text.encode())
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        merge(ids, pair, new_id)
        merges[pair] = new_id
    return merges

# %% train_bpe wrong (misconception ids-to-pairs): the dict is the wrong way round, {new id: pair}
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids = list(text.encode())
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        merges[new_id] = max(counts, key=counts.get)
        ids = merge(ids, merges[new_id], new_id)
    return merges

# %% train_bpe wrong (misconception ids-one-late): off by one, the entry is made before the length is read, so the new ids begin at 257
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids = list(text.encode())
    merges = {}
    for _ in range(n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        merges[pair] = None
        merges[pair] = 256 + len(merges)
        ids = merge(ids, pair, merges[pair])
    return merges

# %% train_bpe wrong (structure): starts from the page's global ids (the cat in the hat) and ignores the argument text
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    """The first n_merges merges of byte-pair encoding, as {pair: new id}, starting from the bytes of text."""
    merges = {}
    current = ids
    for step in range(n_merges):
        counts = count_pairs(current)
        if not counts:
            break
        winner = max(counts, key=counts.get)
        current = merge(current, winner, 256 + step)
        merges[winner] = 256 + step
    return merges

# %% train_bpe right (passed): straight, stops when one id is left
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    tokens, merges = list(text.encode("utf-8")), {}
    while len(merges) < n_merges and len(tokens) > 1:
        counts = count_pairs(tokens)
        winner = max(counts, key=counts.get)
        merges[winner] = 256 + len(merges)
        tokens = merge(tokens, winner, merges[winner])
    return merges

# %% train_bpe right (passed): the ids are the characters of a string, merging is str.replace and counting is a Counter
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    from collections import Counter

    line = text.encode().decode("latin-1")
    rules = {}
    for new in map(chr, range(256, 256 + n_merges)):
        counts = Counter(a + b for a, b in zip(line, line[1:]))
        if not counts:
            break
        best = max(counts, key=counts.__getitem__)
        line = line.replace(best, new)
        rules[ord(best[0]), ord(best[1])] = ord(new)
    return rules

# %% train_bpe right (passed): an inner generator yields the rounds, nothing of the earlier exercises is used, ties are broken by the first place
def train_bpe(text, n_merges):
    def rounds(ids):
        for new_id in range(256, 256 + n_merges):
            pairs = [(ids[i], ids[i + 1]) for i in range(len(ids) - 1)]
            if not pairs:
                return
            places = {}
            for i, p in enumerate(pairs):
                places.setdefault(p, []).append(i)
            best = sorted(places, key=lambda p: (-len(places[p]), places[p][0]))[0]
            yield best, new_id
            shorter, i = [], 0
            while i < len(ids):
                hit = i < len(pairs) and pairs[i] == best
                shorter.append(new_id if hit else ids[i])
                i += 2 if hit else 1
            ids = shorter

    return dict(rounds([*text.encode()]))

# %% train_bpe right (passed): torch tensors, a pair is one number, unique counts them, and scatter_reduce finds the first place of each
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids = torch.tensor(list(text.encode()), dtype=torch.long)
    base = 256 + n_merges
    merges = {}
    for new_id in range(256, base):
        if len(ids) < 2:
            break
        codes = ids[:-1] * base + ids[1:]
        kinds, kind, counts = codes.unique(return_inverse=True, return_counts=True)
        first = torch.full_like(kinds, len(codes))
        first = first.scatter_reduce(0, kind, torch.arange(len(codes)), "amin")
        best = kinds[torch.where(counts == counts.max(), first, len(codes)).argmin()]
        merges[int(best // base), int(best % base)] = new_id
        keep = torch.ones(len(ids), dtype=torch.bool)
        out, last = ids.clone(), -2
        for i in (codes == best).nonzero().flatten().tolist():
            if i > last + 1:
                out[i], keep[i + 1], last = new_id, False, i
        ids = out[keep]
    return merges

# %% to_str_tokens wrong (misconception words): cuts the text at its spaces, words are not tokens and the spaces are lost
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """The text of each token, one by one."""
    return text.split()

# %% to_str_tokens wrong (misconception only-the-space-translated): takes the vocabulary's spelling and translates only the space, a newline stays a Ċ and an é becomes Ã©
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """The text of each token, one by one."""
    names = {i: name for name, i in tokenizer.get_vocab().items()}
    return [names[i].replace("Ġ", " ") for i in tokenizer.encode(text)]

# %% to_str_tokens wrong (misconception spaces-stripped): strips each piece, but the space in front belongs to the token
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """The text of each token, one by one."""
    return [tokenizer.decode(i).strip() for i in tokenizer.encode(text)]

# %% to_str_tokens wrong (misconception end-left-out): leaves out the token <|endoftext|>, though the text of each token is asked for
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """The text of each token, one by one."""
    pieces = []
    for i in tokenizer.encode(text):
        if i == tokenizer.eos_token_id:
            continue
        pieces.append(tokenizer.decode([i]))
    return pieces

# %% to_str_tokens wrong (misconception first-and-last-cut): drops the first and the last token as if they were BOS and EOS, which GPT-2's tokenizer does not add
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """The text of each token, one by one."""
    ids = tokenizer.encode(text)[1:-1]
    return [tokenizer.decode(i) for i in ids]

# %% to_str_tokens wrong (misconception one-string): iterates over the batch axis of [1, seq], so the list holds the whole text as one string
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """The text of each token, one by one."""
    ids = torch.tensor([tokenizer.encode(text)])
    return [tokenizer.decode(i) for i in ids]

# %% to_str_tokens wrong (misconception characters): decodes all ids at once and makes a list of the characters, not of the tokens
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """The text of each token, one by one."""
    ids = tokenizer.encode(text)
    return list(tokenizer.decode(ids))

# %% to_str_tokens wrong (misconception words-one-by-one): encodes each word of the text by itself without its space, so both the cuts and the pieces differ from those of the text
def to_str_tokens(text: str, tokenizer) -> list[str]:
    """The text of each token, one by one."""
    pieces = []
    for word in text.split(" "):
        for i in tokenizer.encode(word):
            pieces.append(tokenizer.decode(i))
    return pieces

# %% to_str_tokens right (passed): loop with append, each id decoded as a list of one
def to_str_tokens(text: str, tokenizer) -> list[str]:
    pieces = []
    for token_id in tokenizer.encode(text):
        pieces.append(tokenizer.decode([token_id]))
    return pieces

# %% to_str_tokens right (passed): map over the ids
def to_str_tokens(text, tokenizer):
    return list(map(tokenizer.decode, tokenizer.encode(text)))

# %% to_str_tokens right (passed): each different id is decoded once and looked up afterwards
def to_str_tokens(text: str, tokenizer) -> list[str]:
    ids = tokenizer.encode(text)
    text_of = {i: tokenizer.decode(i) for i in set(ids)}
    return [text_of[i] for i in ids]

# %% to_str_tokens right (passed): zip makes one-tuples of the ids, star unpacks the decoded ones
def to_str_tokens(text: str, tokenizer) -> list[str]:
    return [*map(tokenizer.decode, map(list, zip(tokenizer.encode(text))))]

# %% next_token_probs wrong (misconception every-position): keeps all positions, the shape is [batch, seq, vocab] and not [batch, vocab]
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """For each text, the probability of every token to come after its last position."""
    return logits.softmax(dim=-1)

# %% next_token_probs wrong (misconception over-positions): softmax along seq (dim=1) before the last position is taken, so the rows do not add up to one
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """For each text, the probability of every token to come after its last position."""
    probs = torch.softmax(logits, dim=1)
    return probs[:, -1, :]

# %% next_token_probs wrong (misconception over-the-batch): softmax along the batch, all ones for a single text
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """For each text, the probability of every token to come after its last position."""
    return logits[:, -1].softmax(dim=0)

# %% next_token_probs wrong (misconception last-text): logits[-1] is the last text of the batch, not the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return logits[-1].softmax(dim=-1)

# %% next_token_probs wrong (misconception last-but-one): takes the last position but one, as if the last had no next token
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """For each text, the probability of every token to come after its last position."""
    return logits[:, -2, :].softmax(dim=-1)

# %% next_token_probs wrong (misconception loses-the-batch): squeeze() without an axis, a batch of one text loses its batch axis
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """For each text, the probability of every token to come after its last position."""
    last = logits[:, -1:, :]
    return torch.softmax(last, dim=-1).squeeze()

# %% next_token_probs wrong (misconception first-text-in-a-batch): only the first text of the batch is answered, the shape is always [1, vocab]
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """For each text, the probability of every token to come after its last position."""
    return logits[0, -1].softmax(dim=-1).unsqueeze(0)

# %% next_token_probs wrong (misconception logarithm): log_softmax gives the logarithms of the probabilities, all of them negative
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    """For each text, the probability of every token to come after its last position."""
    return torch.nn.functional.log_softmax(logits[:, -1], dim=-1)

# %% next_token_probs right (passed): torch.distributions does the softmax
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return torch.distributions.Categorical(logits=logits[:, -1]).probs

# %% next_token_probs right (passed): exp of the distance to the logsumexp
def next_token_probs(logits):
    last = logits.select(1, logits.shape[1] - 1)
    return torch.exp(last - torch.logsumexp(last, dim=1, keepdim=True))

# %% next_token_probs right (passed): loop over the texts, softmax by hand with the maximum taken off
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    batch, _, vocab = logits.shape
    probs = logits.new_zeros(batch, vocab)
    for b in range(batch):
        scores = logits[b, -1]
        weights = (scores - scores.max()).exp()
        probs[b] = weights / weights.sum()
    return probs

# %% next_token_probs right (passed): softmax at all positions with torch.nn, the last is picked afterwards by an index tensor
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    everywhere = torch.nn.Softmax(dim=2)(logits)
    where = torch.tensor([logits.size(1) - 1], device=logits.device)
    return everywhere.index_select(1, where).squeeze(1)

# %% generate wrong (misconception only-the-newest): after the first round the model reads the new token alone and not the text so far
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """The texts, each continued greedily by n_tokens tokens."""
    new = tokens
    for _ in range(n_tokens):
        new = model(new).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate wrong (misconception no-feedback): asks the model once, before the loop, so the same token is appended n_tokens times
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """The texts, each continued greedily by n_tokens tokens."""
    logits = model(tokens).logits
    for _ in range(n_tokens):
        new = logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
    return tokens

# %% generate wrong (misconception only-the-new): returns the new tokens alone, without the texts that they continue
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """The texts, each continued greedily by n_tokens tokens."""
    n_before = tokens.shape[1]
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
    return tokens[:, n_before:]

# %% generate wrong (misconception one-too-few): range(1, n_tokens) makes one token too few
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """The texts, each continued greedily by n_tokens tokens."""
    for _ in range(1, n_tokens):
        new = next_token_probs(model(tokens).logits).argmax(dim=1)
        tokens = torch.cat([tokens, new.unsqueeze(1)], dim=1)
    return tokens

# %% generate wrong (misconception one-token-for-all): argmax without dim and a single [[id]], which works for a batch of one text only and raises for two
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """The texts, each continued greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax().item()
        tokens = torch.cat([tokens, torch.tensor([[new]])], dim=1)
    return tokens

# %% generate wrong (misconception stops-at-the-end): stops when all texts have come to <|endoftext|>, so there can be fewer than n_tokens new tokens
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """The texts, each continued greedily by n_tokens tokens."""
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
        if (new == 50256).all():
            break
    return tokens

# %% generate wrong (misconception window): a sliding window, the model reads only as many tokens as the prompt has and forgets the beginning
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """The texts, each continued greedily by n_tokens tokens."""
    seq = tokens.shape[1]
    for _ in range(n_tokens):
        logits = model(tokens[:, -seq:]).logits
        new = logits[:, -1, :].argmax(dim=-1, keepdim=True)
        tokens = torch.cat((tokens, new), dim=1)
    return tokens

# %% generate wrong (dtype): the buffer is of floats, so the returned tokens are no integers
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    """The texts, each continued greedily by n_tokens tokens."""
    batch, seq = tokens.shape
    result = torch.zeros(batch, seq + n_tokens)
    result[:, :seq] = tokens
    for i in range(seq, seq + n_tokens):
        result[:, i] = model(result[:, :i].long()).logits[:, -1].argmax(dim=-1)
    return result

# %% generate right (passed): grows until the length is reached, argmax at all positions and the last column of it is appended
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    wanted = tokens.shape[1] + n_tokens
    while tokens.shape[1] < wanted:
        best = model(tokens).logits.argmax(dim=-1)
        tokens = torch.hstack([tokens, best[:, -1:]])
    return tokens

# %% generate right (passed): a buffer of the final size is filled from left to right, without gradients
@torch.no_grad()
def generate(model, tokens, n_tokens):
    batch, seq = tokens.shape
    out = tokens.new_zeros((batch, seq + n_tokens))
    out[:, :seq] = tokens
    for end in range(seq, seq + n_tokens):
        out[:, end] = model(out[:, :end]).logits[:, -1].max(dim=-1).indices
    return out

# %% generate right (passed): text by text with Python lists
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    def as_tensor(rows):
        return torch.tensor(rows, dtype=tokens.dtype, device=tokens.device)

    finished = []
    for row in tokens.tolist():
        for _ in range(n_tokens):
            scores = model(as_tensor([row])).logits[0, -1]
            row = row + [int(scores.argmax())]
        finished.append(row)
    return as_tensor(finished)

# %% generate right (passed): functools.reduce over the rounds, pad makes room and a masked choice fills it
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    from functools import reduce

    def longer(texts, _):
        room = torch.nn.functional.pad(texts, (0, 1))
        room[:, -1] = model(texts).logits[:, -1].argmax(-1)
        return room

    return reduce(longer, range(n_tokens), tokens)

# %% sample wrong (misconception temperature-upside-down): multiplies the logits by the temperature, so hot is bold no more but cautious
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """For each row one token, drawn among its top_k most likely ones at this temperature."""
    values, indices = (logits * temperature).topk(top_k, dim=-1)
    drawn = torch.multinomial(values.softmax(dim=-1), 1, generator=generator)
    return indices.gather(-1, drawn)[:, 0]

# %% sample wrong (misconception no-temperature): divides the probabilities by the temperature after the softmax, and multinomial normalises that away: the temperature has no effect
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """For each row one token, drawn among its top_k most likely ones at this temperature."""
    values, indices = logits.topk(top_k, dim=-1)
    probs = values.softmax(dim=-1) / temperature
    drawn = torch.multinomial(probs, 1, generator=generator)
    return indices.gather(-1, drawn).squeeze(-1)

# %% sample wrong (misconception place-not-token): returns the place within the top k and not the id of the token
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """For each row one token, drawn among its top_k most likely ones at this temperature."""
    best = torch.topk(logits / temperature, top_k, dim=-1).values
    probs = torch.softmax(best, dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)

# %% sample wrong (property draws_from_its_generator): the generator is not handed to multinomial, so the chance is torch's global one and a text cannot be made again
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """For each row one token, drawn among its top_k most likely ones at this temperature."""
    values, indices = (logits / temperature).topk(top_k, dim=-1)
    drawn = torch.multinomial(values.softmax(dim=-1), 1)
    return indices.gather(-1, drawn).squeeze(-1)

# %% sample wrong (misconception zero-instead-of-never): sets the logits outside the top k to 0 and not to -inf, so these tokens keep a weight of exp(0) and can be drawn
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """For each row one token, drawn among its top_k most likely ones at this temperature."""
    scaled = logits / temperature
    best = scaled.topk(top_k, dim=-1)
    kept = torch.zeros_like(scaled).scatter(-1, best.indices, best.values)
    probs = kept.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]

# %% sample wrong (misconception drops-the-batch): squeeze() without an axis, for a single text the result has the shape [] and not [1]
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """For each row one token, drawn among its top_k most likely ones at this temperature."""
    values, indices = torch.topk(logits, top_k, dim=-1)
    drawn = torch.multinomial((values / temperature).softmax(dim=-1), 1, generator=generator)
    return indices.gather(-1, drawn).squeeze()

# %% sample wrong (misconception first-texts-tokens): takes the top k tokens of the first row for all rows
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """For each row one token, drawn among its top_k most likely ones at this temperature."""
    allowed = logits[0].topk(top_k).indices
    probs = (logits[:, allowed] / temperature).softmax(dim=-1)
    drawn = torch.multinomial(probs, 1, generator=generator)[:, 0]
    return allowed[drawn]

# %% sample wrong (property draws_from_its_generator): sets the generator back to its seed on every call, so each call repeats the same chance and a text is drawn with one number
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    """For each row one token, drawn among its top_k most likely ones at this temperature."""
    generator.manual_seed(generator.initial_seed())
    values, indices = (logits / temperature).topk(top_k, dim=-1)
    drawn = torch.multinomial(values.softmax(dim=-1), 1, generator=generator)
    return torch.gather(indices, 1, drawn).squeeze(1)

# %% sample right (passed): mask of exactly k places by scatter, -inf elsewhere, softmax over the whole vocabulary
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    best = logits.topk(min(top_k, logits.shape[-1]), dim=-1).indices
    forbidden = torch.ones_like(logits, dtype=torch.bool).scatter(-1, best, False)
    probs = (logits / temperature).masked_fill(forbidden, float("-inf")).softmax(dim=-1)
    return torch.multinomial(probs, num_samples=1, generator=generator).flatten()

# %% sample right (passed): one uniform number a row from the generator, looked up in the cumulative probabilities
def sample(logits, temperature, top_k, generator):
    values, ids = logits.double().sort(dim=-1, descending=True)
    values, ids = values[:, :top_k], ids[:, :top_k]
    cdf = (values / temperature).softmax(dim=-1).cumsum(dim=-1)
    u = torch.rand(len(logits), 1, generator=generator, dtype=cdf.dtype, device=cdf.device)
    place = torch.searchsorted(cdf, u * cdf[:, -1:], right=True).clamp(max=ids.shape[1] - 1)
    return ids.gather(1, place)[:, 0]

# %% sample right (passed): the Gumbel trick, the largest of logits plus noise from the generator, with no softmax at all
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    values, ids = logits.topk(min(top_k, logits.size(-1)))
    race = torch.empty_like(values).exponential_(generator=generator)
    winner = (values / temperature - race.log()).argmax(dim=-1, keepdim=True)
    return ids.take_along_dim(winner, dim=-1).squeeze(-1)

# %% sample right (passed): row by row in a loop, a helper draws from one row
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    def draw(row):
        order = row.argsort(descending=True)[:top_k]
        weights = ((row[order] - row.max()) / temperature).exp()
        return order[torch.multinomial(weights / weights.sum(), 1, generator=generator)]

    return torch.cat([draw(row) for row in logits])

