# %% count_pairs wrong (misconception two-by-two): after a pair it jumps two places on, so neighbours at odd places and overlapping pairs are missed
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    for i in range(0, len(ids) - 1, 2):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts

# %% count_pairs wrong (property first_met_first): most_common sorts by frequency, the promised order is that in which the pairs are first met
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    from collections import Counter

    return dict(Counter(zip(ids, ids[1:])).most_common())

# %% count_pairs wrong (property first_met_first): pop and insert moves a pair to the end each time, so the order is that in which the pairs are last met
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.pop(pair, 0) + 1
    return counts

# %% count_pairs wrong (raised): the loop runs one place too far, ids[i + 1] raises IndexError at the last id
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    for i in range(len(ids)):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts

# %% count_pairs wrong (misconception last-pair-missed): off by one, the last pair is never counted
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    for i in range(len(ids) - 2):
        pair = (ids[i], ids[i + 1])
        if pair in counts:
            counts[pair] += 1
        else:
            counts[pair] = 1
    return counts

# %% count_pairs wrong (misconception order-forgotten): sorting the two makes (1, 2) and (2, 1) the same pair
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    for a, b in zip(ids, ids[1:]):
        pair = (min(a, b), max(a, b))
        counts[pair] = counts.get(pair, 0) + 1
    return counts

# %% count_pairs wrong (misconception wraps-around): ids[i - 1] is the last id for i = 0, so last and first are counted as neighbours
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    for i in range(len(ids)):
        pair = (ids[i - 1], ids[i])
        counts[pair] = counts.get(pair, 0) + 1
    return counts

# %% count_pairs wrong (misconception starts-at-zero): the first meeting is entered as 0, so every count is one too small
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    for pair in zip(ids, ids[1:]):
        if pair not in counts:
            counts[pair] = 0
        else:
            counts[pair] += 1
    return counts

# %% count_pairs right (passed): Counter over pairwise
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    from collections import Counter
    from itertools import pairwise

    return Counter(pairwise(ids))

# %% count_pairs right (passed): index loop with get
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    found = dict()
    for position in range(1, len(ids)):
        key = (ids[position - 1], ids[position])
        found[key] = found.get(key, 0) + 1
    return found

# %% count_pairs right (passed): slow comprehension, each different pair is counted in the whole list
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    pairs = list(zip(ids[:-1], ids[1:]))
    return {pair: pairs.count(pair) for pair in dict.fromkeys(pairs)}

# %% count_pairs right (passed): torch.unique with the place of the first meeting
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    if len(ids) < 2:
        return {}
    windows = torch.tensor(ids).unfold(0, 2, 1)
    kinds, where, numbers = windows.unique(dim=0, return_inverse=True, return_counts=True)
    where = where.tolist()
    order = sorted(range(len(kinds)), key=where.index)
    return {tuple(kinds[k].tolist()): int(numbers[k]) for k in order}

# %% merge wrong (misconception changes-its-input): the ids are changed in place and returned, the docstring promises a new list
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    i = 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == pair:
            ids[i] = new_id
            del ids[i + 1]
        i += 1
    return ids

# %% merge wrong (misconception second-left-behind): i += 1 inside a for loop skips nothing, so the second half of the pair stays
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    result = []
    for i in range(len(ids)):
        if i < len(ids) - 1 and (ids[i], ids[i + 1]) == pair:
            result.append(new_id)
            i += 1
        else:
            result.append(ids[i])
    return result

# %% merge wrong (misconception last-lost): the loop ends before the last id, which is lost unless it belongs to a pair
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

# %% merge wrong (raised): no look at the end, a list whose last id is the first half of the pair raises IndexError
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    result = []
    i = 0
    while i < len(ids):
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            result.append(new_id)
            i += 2
        else:
            result.append(ids[i])
            i += 1
    return result

# %% merge wrong (misconception from-the-right): reads from the right, so 7 7 7 becomes 7 new instead of new 7
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    result = []
    i = len(ids) - 1
    while i >= 0:
        if i > 0 and ids[i - 1] == pair[0] and ids[i] == pair[1]:
            result.insert(0, new_id)
            i -= 2
        else:
            result.insert(0, ids[i])
            i -= 1
    return result

# %% merge wrong (property spells_the_same): the id that waits is tested for truth, so every id 0 gets lost
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    result = []
    waiting = None
    for i in ids:
        if waiting == pair[0] and i == pair[1]:
            result.append(new_id)
            waiting = None
        else:
            if waiting:
                result.append(waiting)
            waiting = i
    if waiting:
        result.append(waiting)
    return result

# %% merge wrong (misconception always-256): new_id is ignored, 256 is put in every time
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    result, i = [], 0
    while i < len(ids):
        if tuple(ids[i:i + 2]) == pair:
            result.append(256)
            i += 2
        else:
            result.append(ids[i])
            i += 1
    return result

# %% merge wrong (misconception either-order): comparing sets merges the pair in the reverse order as well
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    result, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and {ids[i], ids[i + 1]} == set(pair):
            result.append(new_id)
            i += 2
        else:
            result.append(ids[i])
            i += 1
    return result

# %% merge right (passed): while loop over slices
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    left, right = pair
    out = []
    k = 0
    while k < len(ids):
        if ids[k:k + 2] == [left, right]:
            out += [new_id]
            k += 2
        else:
            out += [ids[k]]
            k += 1
    return out

# %% merge right (passed): each id becomes one character, and str.replace does the work
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    alphabet = sorted({*ids, *pair, new_id})
    letter = {number: chr(rank) for rank, number in enumerate(alphabet)}
    written = "".join(letter[i] for i in ids)
    written = written.replace(letter[pair[0]] + letter[pair[1]], letter[new_id])
    return [alphabet[ord(c)] for c in written]

# %% merge right (passed): a generator that eats an iterator and holds one id back
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    def stream():
        held = []
        for current in ids:
            if held and (held[0], current) == tuple(pair):
                held.clear()
                yield new_id
                continue
            yield from held
            held[:] = [current]
        yield from held

    return list(stream())

# %% merge right (passed): jump from one first half to the next with list.index
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    first, second = pair
    out, start = [], 0
    while True:
        try:
            hit = ids.index(first, start)
        except ValueError:
            return out + ids[start:]
        out.extend(ids[start:hit])
        if hit + 1 < len(ids) and ids[hit + 1] == second:
            out.append(new_id)
            start = hit + 2
        else:
            out.append(first)
            start = hit + 1

# %% train_bpe wrong (misconception ties-to-the-last): the last of the sorted pairs wins a tie, the rule is that the pair that is met first wins
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids = list(text.encode())
    merges = {}
    for i in range(n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        winner = sorted(counts, key=counts.get)[-1]
        merges[winner] = 256 + i
        ids = merge(ids, winner, 256 + i)
    return merges

# %% train_bpe wrong (misconception counted-once): counts once and takes the n most frequent pairs, without merging and counting again
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    counts = count_pairs(list(text.encode()))
    best = sorted(counts, key=counts.get, reverse=True)[:n_merges]
    return {pair: 256 + i for i, pair in enumerate(best)}

# %% train_bpe wrong (misconception ids-one-late): off by one, the first new id is 257
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids = list(text.encode())
    merges = {}
    new_id = 256
    for _ in range(n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        new_id += 1
        ids = merge(ids, pair, new_id)
        merges[pair] = new_id
    return merges

# %% train_bpe wrong (misconception only-what-repeats): stops when no pair stands there twice, the page asks to merge also pairs that stand there once
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids = list(text.encode())
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        pair = max(counts, key=counts.get, default=None)
        if pair is None or counts[pair] < 2:
            break
        ids = merge(ids, pair, new_id)
        merges[pair] = new_id
    return merges

# %% train_bpe wrong (misconception characters-for-bytes): starts from the code points of the characters instead of the bytes, so accents and emoji go wrong
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
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

# %% train_bpe wrong (misconception never-merged): the merged list is thrown away, so the same pair wins every round and one entry is left
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

# %% train_bpe wrong (misconception ids-to-pairs): the dict is turned round, {new id: pair} instead of {pair: new id}
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
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

# %% train_bpe wrong (property most_frequent_first): a pair that begins or ends with a plain space is left out, as if words must not be joined; the page merges spaces too
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids = list(text.encode())
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = {p: c for p, c in count_pairs(ids).items() if 32 not in p}
        if not counts:
            break
        pair = max(counts, key=counts.get)
        ids = merge(ids, pair, new_id)
        merges[pair] = new_id
    return merges

# %% train_bpe right (passed): the three steps with the earlier functions
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids = list(text.encode("utf-8"))
    merges = {}
    while len(merges) < n_merges and len(ids) > 1:
        counts = count_pairs(ids)
        winner = max(counts, key=counts.get)
        merges[winner] = 256 + len(merges)
        ids = merge(ids, winner, merges[winner])
    return merges

# %% train_bpe right (passed): the tokens are the characters of a string, replace merges
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    from collections import Counter

    string, merges = text.encode().decode("latin-1"), {}
    for new_id in range(256, 256 + n_merges):
        counts = Counter(zip(string, string[1:]))
        if not counts:
            return merges
        a, b = max(counts, key=counts.get)
        string = string.replace(a + b, chr(new_id))
        merges[ord(a), ord(b)] = new_id
    return merges

# %% train_bpe right (passed): everything by hand, the winner by its count and its first place
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    def winner(sequence):
        number, first = {}, {}
        for place in range(len(sequence) - 1):
            p = (sequence[place], sequence[place + 1])
            number[p] = number.get(p, 0) + 1
            first.setdefault(p, place)
        return min(number, key=lambda p: (-number[p], first[p]))

    sequence = list(bytearray(text, "utf-8"))
    result = {}
    for step in range(n_merges):
        if len(sequence) < 2:
            break
        best = winner(sequence)
        result[best] = 256 + step
        shorter, place = [], 0
        while place < len(sequence):
            if tuple(sequence[place:place + 2]) == best:
                shorter.append(256 + step)
                place += 2
            else:
                shorter.append(sequence[place])
                place += 1
        sequence = shorter
    return result

# %% train_bpe right (passed): a linked list whose counts are kept up to date instead of counted anew
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    from collections import Counter

    value = list(text.encode())
    after = list(range(1, len(value))) + [None]
    before = [None] + list(range(len(value) - 1))
    counts = Counter(zip(value, value[1:]))
    merges = {}

    def walk():
        node = 0
        while after[node] is not None:
            yield node, (value[node], value[after[node]])
            node = after[node]

    def change(node, by):
        if node is not None and after[node] is not None:
            counts[value[node], value[after[node]]] += by

    for new_id in range(256, 256 + n_merges):
        if len(value) == 0 or after[0] is None:
            break
        most = max(counts.values())
        best = next(pair for _, pair in walk() if counts[pair] == most)
        merges[best] = new_id
        node = 0
        while node is not None and after[node] is not None:
            right = after[node]
            if (value[node], value[right]) == best:
                change(before[node], -1)
                change(node, -1)
                change(right, -1)
                value[node], after[node] = new_id, after[right]
                if after[node] is not None:
                    before[after[node]] = node
                change(before[node], 1)
                change(node, 1)
            node = after[node]
    return merges

# %% to_str_tokens wrong (misconception text-again): all ids are decoded together, which gives back the text as one string and not a list of tokens
def to_str_tokens(text: str, tokenizer) -> list[str]:
    return tokenizer.decode(tokenizer.encode(text))

# %% to_str_tokens wrong (misconception spaces-stripped): strip takes away the space that belongs to the token
def to_str_tokens(text: str, tokenizer) -> list[str]:
    return [tokenizer.decode(i).strip() for i in tokenizer.encode(text)]

# %% to_str_tokens wrong (misconception as-stored): the entries of the vocabulary are returned, with Ġ for the space, instead of the text
def to_str_tokens(text: str, tokenizer) -> list[str]:
    names = {i: name for name, i in tokenizer.get_vocab().items()}
    return [names[i] for i in tokenizer.encode(text)]

# %% to_str_tokens wrong (misconception words-one-by-one): the text is split at spaces first, so the spaces vanish and the words are cut as if at the start of a text
def to_str_tokens(text: str, tokenizer) -> list[str]:
    result = []
    for word in text.split(" "):
        for i in tokenizer.encode(word):
            result.append(tokenizer.decode(i))
    return result

# %% to_str_tokens wrong (misconception first-cut): the first token is dropped as if it were a marker for the beginning, which encode does not add
def to_str_tokens(text: str, tokenizer) -> list[str]:
    ids = tokenizer.encode(text)
    return [tokenizer.decode(i) for i in ids[1:]]

# %% to_str_tokens wrong (difference prefix): tokens that are nothing but spaces or line breaks are left out
def to_str_tokens(text: str, tokenizer) -> list[str]:
    pieces = []
    for i in tokenizer.encode(text):
        piece = tokenizer.decode(i)
        if piece.strip():
            pieces.append(piece)
    return pieces

# %% to_str_tokens wrong (structure): uses the lesson's encode with the merges of the poem and ignores the tokenizer that was handed in
def to_str_tokens(text: str, tokenizer) -> list[str]:
    ids, pieces = encode(text, merges)
    return pieces

# %% to_str_tokens wrong (raised): decode is called on the list of ids, which has no such method, AttributeError
def to_str_tokens(text: str, tokenizer) -> list[str]:
    return [token for token in tokenizer.encode(text).decode()]

# %% to_str_tokens right (passed): comprehension, a list with one id for each call
def to_str_tokens(text: str, tokenizer) -> list[str]:
    return [tokenizer.decode([token_id]) for token_id in tokenizer.encode(text)]

# %% to_str_tokens right (passed): map
def to_str_tokens(text: str, tokenizer) -> list[str]:
    return list(map(tokenizer.decode, tokenizer.encode(text)))

# %% to_str_tokens right (passed): each different id is decoded once and looked up
def to_str_tokens(text: str, tokenizer) -> list[str]:
    ids = tokenizer.encode(text)
    spelled = {}
    for i in ids:
        if i not in spelled:
            spelled[i] = tokenizer.decode(i)
    return [spelled[i] for i in ids]

# %% to_str_tokens right (passed): slices of the ids, decoded one by one with an index
def to_str_tokens(text: str, tokenizer) -> list[str]:
    ids = tokenizer.encode(text)
    strings = [""] * len(ids)
    for k in range(len(ids)):
        strings[k] = tokenizer.decode(ids[k:k + 1])
    return strings

# %% next_token_probs wrong (misconception over-positions): the softmax runs over the positions, so the vocabulary does not sum to one
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return logits.softmax(dim=1)[:, -1]

# %% next_token_probs wrong (misconception one-sum-for-all): divides by the sum over all texts, so with two texts each row sums to less than one
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    last = logits[:, -1, :]
    powers = torch.exp(last - last.max())
    return powers / powers.sum()

# %% next_token_probs wrong (misconception loses-the-batch): squeeze removes the batch axis when there is one text, the shape is [vocab]
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return torch.softmax(logits[:, -1], dim=-1).squeeze(0)

# %% next_token_probs wrong (misconception last-but-one): off by one, the last position but one is about the last token, not about the next
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return logits[:, -2].softmax(dim=-1)

# %% next_token_probs wrong (misconception logits-themselves): no softmax, these are scores and not probabilities
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return logits[:, -1, :]

# %% next_token_probs wrong (misconception mean-of-the-guesses): the mean over all positions instead of the last one
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return logits.softmax(dim=-1).mean(dim=1)

# %% next_token_probs wrong (misconception last-text): logits[-1] is the last text, not the last position, the result is [seq, vocab]
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return logits[-1].softmax(dim=-1)

# %% next_token_probs wrong (difference function): softmax twice, the rows sum to one but are nearly even
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    probs = torch.softmax(logits, dim=-1)
    return torch.softmax(probs[:, -1], dim=-1)

# %% next_token_probs right (passed): functional softmax of everything, the last position selected after
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return torch.nn.functional.softmax(logits, dim=2).select(1, -1)

# %% next_token_probs right (passed): log_softmax, and exp of it
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    final = logits[:, logits.shape[1] - 1]
    return torch.nn.functional.log_softmax(final, dim=1).exp()

# %% next_token_probs right (passed): a loop over the texts, exp shifted by the largest
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    rows = []
    for one_text in logits:
        scores = one_text[-1]
        powers = (scores - scores.max()).exp()
        rows.append(powers / powers.sum())
    return torch.stack(rows)

# %% next_token_probs right (passed): a categorical distribution knows its probabilities
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return torch.distributions.Categorical(logits=logits[..., -1, :]).probs

# %% generate wrong (misconception only-the-new): only the new tokens are returned, without the texts
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    start = tokens.shape[1]
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
    return tokens[:, start:]

# %% generate wrong (misconception one-too-many): one token too many
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    for _ in range(n_tokens + 1):
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
    return tokens

# %% generate wrong (misconception first-text-only): the first text decides for all texts of the batch
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    for _ in range(n_tokens):
        best = model(tokens).logits[0, -1].argmax()
        column = best.expand(tokens.shape[0], 1)
        tokens = torch.cat([tokens, column], dim=1)
    return tokens

# %% generate wrong (misconception stops-at-the-end): stops at the end-of-text token, the page asks for n_tokens new ones whatever these are
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
        if (new == 50256).all():
            break
    return tokens

# %% generate wrong (misconception no-feedback): the model always reads the first prompt, so the same token is added each time
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    result = tokens
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        result = torch.cat([result, new], dim=1)
    return result

# %% generate wrong (misconception only-the-newest): after the first step the model sees the newest token alone, not the text so far
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    seen = tokens
    for _ in range(n_tokens):
        new = model(seen).logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
        seen = new[:, None]
    return tokens

# %% generate wrong (raised): the new tokens have no second axis, torch.cat raises
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    for _ in range(n_tokens):
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate wrong (misconception n_tokens-in-all): n_tokens is taken for the length of the whole text, so too few tokens or none are added
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    while tokens.shape[1] < n_tokens:
        new = model(tokens).logits[:, -1].argmax(dim=-1)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
    return tokens

# %% generate right (passed): topk of one keeps the axis
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    with torch.no_grad():
        for _ in range(n_tokens):
            scores = model(tokens).logits
            tokens = torch.hstack([tokens, scores[:, -1, :].topk(1).indices])
    return tokens

# %% generate right (passed): a buffer of the final length that fills up
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    n_texts, length = tokens.shape
    buffer = tokens.new_zeros(n_texts, length + n_tokens)
    buffer[:, :length] = tokens
    for end in range(length, length + n_tokens):
        buffer[:, end] = model(buffer[:, :end]).logits[:, end - 1].argmax(-1)
    return buffer

# %% generate right (passed): each text on its own, as a Python list
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    finished = []
    for text_ids in tokens.tolist():
        for _ in range(n_tokens):
            read = torch.tensor([text_ids], dtype=tokens.dtype, device=tokens.device)
            scores = model(read).logits[0][-1]
            text_ids = text_ids + [int(torch.argmax(scores))]
        finished.append(text_ids)
    return torch.tensor(finished, dtype=tokens.dtype, device=tokens.device)

# %% generate right (passed): reduce over the rounds, through the probabilities
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    from functools import reduce

    def grow(so_far, _):
        chances = next_token_probs(model(so_far).logits)
        return torch.cat((so_far, chances.max(dim=-1, keepdim=True).indices), dim=-1)

    return reduce(grow, range(n_tokens), tokens)

# %% sample wrong (property draws_from_its_generator): the generator is not handed to multinomial, so the chance comes from torch's global one
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    values, indices = logits.topk(top_k, dim=-1)
    probs = (values / temperature).softmax(dim=-1)
    drawn = torch.multinomial(probs, 1)
    return indices.gather(1, drawn)[:, 0]

# %% sample wrong (misconception no-temperature): the probabilities are divided by the temperature, not the logits; multinomial takes that away again, so the temperature does nothing
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    values, indices = logits.topk(top_k, dim=-1)
    probs = values.softmax(dim=-1) / temperature
    drawn = torch.multinomial(probs, 1, generator=generator)
    return indices.gather(1, drawn)[:, 0]

# %% sample wrong (misconception place-not-token): returns the rank among the best k instead of the token's id
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    values, indices = logits.topk(top_k, dim=-1)
    probs = (values / temperature).softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]

# %% sample wrong (misconception zero-instead-of-never): the other logits are set to 0 instead of minus infinity, so tokens outside the best k still take part
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    values, indices = logits.topk(top_k, dim=-1)
    kept = torch.zeros_like(logits).scatter(1, indices, values)
    probs = (kept / temperature).softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]

# %% sample wrong (misconception drops-the-batch): squeeze without an axis, so a batch of one text gives a single number of shape [] instead of [1]
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    values, indices = logits.topk(top_k, dim=-1)
    probs = (values / temperature).softmax(dim=-1)
    drawn = torch.multinomial(probs, 1, generator=generator)
    return indices.gather(1, drawn).squeeze()

# %% sample wrong (property draws_from_its_generator): a new generator with the same seed in every call, so each call starts over instead of going on from the last
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    fresh = torch.Generator().manual_seed(generator.initial_seed())
    values, indices = logits.topk(top_k, dim=-1)
    probs = (values / temperature).softmax(dim=-1)
    drawn = torch.multinomial(probs, 1, generator=fresh)
    return indices.gather(1, drawn)[:, 0]

# %% sample wrong (misconception naive-exponential): exp by hand overflows at a low temperature, the page warns of it
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    values, indices = logits.topk(top_k, dim=-1)
    powers = torch.exp(values / temperature)
    probs = powers / powers.sum(dim=-1, keepdim=True)
    drawn = torch.multinomial(probs, 1, generator=generator)
    return indices.gather(1, drawn)[:, 0]

# %% sample wrong (misconception one-more): off by one, the threshold is the first value outside the best k, so k + 1 tokens take part
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    ordered = logits.sort(dim=-1, descending=True).values
    threshold = ordered[:, min(top_k, logits.shape[-1] - 1)]
    kept = logits.masked_fill(logits < threshold[:, None], float("-inf"))
    probs = (kept / temperature).softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]

# %% sample right (passed): everything outside the best k becomes minus infinity
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    best = torch.topk(logits, top_k, dim=1)
    masked = torch.full_like(logits, float("-inf")).scatter(1, best.indices, best.values)
    chances = torch.softmax(masked / temperature, dim=1)
    return torch.multinomial(chances, num_samples=1, generator=generator).squeeze(1)

# %% sample right (passed): softmax over the whole vocabulary first, then the best k of the probabilities, which multinomial scales itself
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    everyone = (logits / temperature).softmax(-1)
    order = logits.argsort(dim=-1, descending=True)[:, :top_k]
    rank = everyone.gather(-1, order).multinomial(1, generator=generator)
    return torch.take_along_dim(order, rank, dim=-1).flatten()

# %% sample right (passed): the Gumbel trick, noise on the logits and then the largest
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    values, ids_of_best = logits.topk(min(top_k, logits.shape[-1]), dim=-1)
    uniform = torch.rand(values.shape, generator=generator, dtype=torch.float64)
    noise = -torch.log(-torch.log(uniform))
    winner = (values.double() / temperature + noise).argmax(dim=-1)
    return ids_of_best[torch.arange(len(logits)), winner]

# %% sample right (passed): row by row, a number between 0 and 1 is looked up in the running sum
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    chosen = []
    for row in logits:
        scores, ids_of_best = row.sort(descending=True)
        running = torch.softmax(scores[:top_k] / temperature, dim=0).cumsum(dim=0)
        point = torch.rand(1, generator=generator, dtype=running.dtype) * running[-1]
        chosen.append(ids_of_best[torch.searchsorted(running, point)[0]])
    return torch.stack(chosen)
