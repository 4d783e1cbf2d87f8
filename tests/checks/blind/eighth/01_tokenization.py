# %% count_pairs wrong (misconception two-by-two): cuts the ids into pairs side by side, so every second pair is missing
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    for pair in zip(ids[::2], ids[1::2]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts

# %% count_pairs wrong (property first_met_first): sorts the pairs by their count, not by their first occurrence
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    from collections import Counter

    return dict(Counter(zip(ids, ids[1:])).most_common())

# %% count_pairs wrong (property first_met_first): takes a pair out and puts it in again at each occurrence, so the order is that of the last occurrence
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.pop(pair, 0) + 1
    return counts

# %% count_pairs wrong (misconception starts-at-zero): the first occurrence sets the count to 0
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    for i in range(len(ids) - 1):
        pair = ids[i], ids[i + 1]
        if pair not in counts:
            counts[pair] = 0
        else:
            counts[pair] += 1
    return counts

# %% count_pairs wrong (misconception wraps-around): pairs the last id with the first one, as if the text were a circle
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    for i in range(len(ids)):
        pair = ids[i - 1], ids[i]
        counts[pair] = counts.get(pair, 0) + 1
    return counts

# %% count_pairs wrong (raised): starts from ids[0], so an empty list raises an IndexError
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts, left = {}, ids[0]
    for right in ids[1:]:
        counts.setdefault((left, right), 0)
        counts[left, right] += 1
        left = right
    return counts

# %% count_pairs wrong (property starts_anew): the dict is a default argument, so the counts of earlier calls are still in it
def count_pairs(ids: list[int], counts={}) -> dict[tuple[int, int], int]:
    for left, right in zip(ids[:-1], ids[1:]):
        counts[(left, right)] = counts.get((left, right), 0) + 1
    return counts

# %% count_pairs wrong (misconception order-forgotten): sorts the two ids of a pair, so a pair and its reverse are counted together
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    pairs = [tuple(sorted(ids[i : i + 2])) for i in range(len(ids) - 1)]
    return {pair: pairs.count(pair) for pair in dict.fromkeys(pairs)}

# %% count_pairs wrong (misconception skips-overlaps): after a pair of equal ids it jumps over the second one, so three equal ids count once
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts, i = {}, 0
    while i < len(ids) - 1:
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
        i += 2 if i + 2 < len(ids) and ids[i] == ids[i + 1] == ids[i + 2] else 1
    return counts

# %% count_pairs wrong (property leaves_its_inputs): takes the ids out of the list one by one, so the caller's list is used up
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    counts = {}
    while len(ids) > 1:
        left = ids.pop(0)
        counts[left, ids[0]] = counts.get((left, ids[0]), 0) + 1
    return counts

# %% count_pairs wrong (property first_met_first): goes through the distinct pairs as a set, so they do not come in the order of the text
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    pairs = list(zip(ids, ids[1:]))
    return {pair: pairs.count(pair) for pair in set(pairs)}

# %% count_pairs right (passed): itertools.pairwise and dict unions
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    from itertools import pairwise

    counts: dict[tuple[int, int], int] = {}
    for pair in pairwise(ids):
        counts |= {pair: 1 + counts.get(pair, 0)}
    return counts

# %% count_pairs right (passed): lists the places of each pair first, then takes the lengths
def count_pairs(ids: list[int]) -> dict[tuple[int, int], int]:
    places = {}
    for i in range(1, len(ids)):
        places.setdefault((ids[i - 1], ids[i]), []).append(i)
    return {pair: len(where) for pair, where in places.items()}

# %% merge wrong (misconception second-left-behind): does not jump over the second id of a merged pair, so it stays in the list
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    merged = []
    for i, current in enumerate(ids):
        if tuple(ids[i : i + 2]) == pair:
            merged.append(new_id)
        else:
            merged.append(current)
    return merged

# %% merge wrong (misconception last-lost): the loop ends before the last id, so a last id outside a pair is lost
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    merged, i = [], 0
    while i < len(ids) - 1:
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged

# %% merge wrong (misconception changes-its-input): shortens the caller's list with a slice
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    i = 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == pair:
            ids[i : i + 2] = [new_id]
        i += 1
    return ids

# %% merge wrong (misconception from-the-right): goes through the ids from the right, so of three equal ids the last two are merged
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    merged, i = [], len(ids) - 1
    while i >= 0:
        if i > 0 and (ids[i - 1], ids[i]) == pair:
            merged.append(new_id)
            i -= 2
        else:
            merged.append(ids[i])
            i -= 1
    return merged[::-1]

# %% merge wrong (misconception as-a-string): replaces inside a string of digits, so the pair 1 2 is found in the ids 11 23
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    line = " ".join(str(i) for i in ids)
    line = line.replace(f"{pair[0]} {pair[1]}", str(new_id))
    return [int(number) for number in line.split()]

# %% merge wrong (misconception always-256): always writes 256, whatever the new id is
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    out = []
    i = 0
    while i < len(ids):
        if i + 1 < len(ids) and ids[i] == pair[0] and ids[i + 1] == pair[1]:
            out.append(256)
            i = i + 2
        else:
            out.append(ids[i])
            i = i + 1
    return out

# %% merge wrong (misconception either-order): compares sets, so the reversed pair is merged too
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    out, i = [], 0
    while i < len(ids):
        if len(ids) - i >= 2 and {*ids[i : i + 2]} == {*pair}:
            out, i = out + [new_id], i + 2
        else:
            out, i = out + [ids[i]], i + 1
    return out

# %% merge wrong (property spells_the_same): looks back with index -1 at the first position, so the last and the first id can form a pair
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    out, just_merged = [], False
    for i, current in enumerate(ids):
        if not just_merged and (ids[i - 1], current) == pair:
            out[-1:] = [new_id]
            just_merged = True
        else:
            out.append(current)
            just_merged = False
    return out

# %% merge wrong (misconception first-only): only the first occurrence is merged
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    for i in range(len(ids) - 1):
        if (ids[i], ids[i + 1]) == pair:
            return ids[:i] + [new_id] + ids[i + 2 :]
    return list(ids)

# %% merge wrong (property spells_the_same): after a merge it also jumps over the next id without looking whether a new pair starts there
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            out.append(new_id)
            out.extend(ids[i + 2 : i + 3])
            i += 3
        else:
            out.append(ids[i])
            i += 1
    return out

# %% merge right (passed): pops from a reversed copy
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    stack, out = ids[::-1], []
    while stack:
        first = stack.pop()
        if stack and (first, stack[-1]) == tuple(pair):
            stack.pop()
            first = new_id
        out.append(first)
    return out

# %% merge right (passed): a generator that holds one id back
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    def pieces():
        held = []
        for current in ids:
            if held and held[0] == pair[0] and current == pair[1]:
                yield new_id
                held = []
            else:
                yield from held
                held = [current]
        yield from held

    return list(pieces())

# %% train_bpe wrong (misconception counted-once): counts once at the beginning and takes the n most frequent pairs
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    counts = count_pairs(list(text.encode()))
    best = sorted(counts, key=counts.get, reverse=True)[:n_merges]
    return {pair: 256 + i for i, pair in enumerate(best)}

# %% train_bpe wrong (misconception ties-to-the-largest): a tie is won by the pair with the larger ids
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids, merges = list(text.encode()), {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        _, winner = max((n, pair) for pair, n in counts.items())
        merges[winner] = new_id
        ids = merge(ids, winner, new_id)
    return merges

# %% train_bpe wrong (misconception only-what-repeats): stops when the best pair occurs only once
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids, merges = list(text.encode("utf-8")), {}
    while len(merges) < n_merges:
        counts = count_pairs(ids)
        winner = max(counts, key=counts.get, default=None)
        if winner is None or counts[winner] == 1:
            break
        merges[winner] = 256 + len(merges)
        ids = merge(ids, winner, merges[winner])
    return merges

# %% train_bpe wrong (misconception characters-for-bytes): starts from the code points of the characters, not from the bytes
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids = [ord(character) for character in text]
    merges = {}
    for i in range(n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        ids = merge(ids, pair, 256 + i)
        merges[pair] = 256 + i
    return merges

# %% train_bpe wrong (misconception never-merged): throws the merged list away, so each round counts the bytes again
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids, merges = list(text.encode()), {}
    for i in range(n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        winner = max(counts, key=counts.get)
        merge(ids, winner, 256 + i)
        merges[winner] = 256 + i
    return merges

# %% train_bpe wrong (misconception ids-to-pairs): returns new id to pair, the dict turned round
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids, merges = list(text.encode()), {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        merges[new_id] = max(counts, key=counts.get)
        ids = merge(ids, merges[new_id], new_id)
    return merges

# %% train_bpe wrong (property most_frequent_first): ranks the pairs by how many tokens a merge would save, so overlapping pairs count less
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids, merges = list(text.encode()), {}
    for new_id in range(256, 256 + n_merges):
        pairs = list(count_pairs(ids))
        if not pairs:
            break
        winner = max(pairs, key=lambda pair: len(ids) - len(merge(ids, pair, new_id)))
        merges[winner], ids = new_id, merge(ids, winner, new_id)
    return merges

# %% train_bpe wrong (property texts): takes the white space off the two ends of the text before it starts
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids, merges = list(text.strip().encode()), {}
    for new_id in range(256, 256 + n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        winner = max(counts, key=counts.get)
        merges[winner] = new_id
        ids = merge(ids, winner, new_id)
    return merges

# %% train_bpe wrong (property most_frequent_first): numbers the new tokens from the number of different bytes in the text
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids = list(text.encode())
    next_id = len(set(ids))
    merges = {}
    for _ in range(n_merges):
        counts = count_pairs(ids)
        if not counts:
            break
        winner = max(counts, key=counts.get)
        merges[winner] = next_id
        ids = merge(ids, winner, next_id)
        next_id += 1
    return merges

# %% train_bpe wrong (misconception ties-to-the-last): looks for the winner with >=, so a tie goes to the pair that occurs last
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids, merges = list(text.encode()), {}
    for i in range(n_merges):
        winner, best = None, 0
        for pair, n in count_pairs(ids).items():
            if n >= best:
                winner, best = pair, n
        if winner is None:
            break
        merges[winner] = 256 + i
        ids = merge(ids, winner, 256 + i)
    return merges

# %% train_bpe wrong (property most_frequent_first): no merge crosses a space, as in GPT-2, because words are counted one by one
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    words, merges = [list(word.encode()) for word in text.split(" ")], {}
    for new_id in range(256, 256 + n_merges):
        counts = {}
        for word in words:
            for pair, n in count_pairs(word).items():
                counts[pair] = counts.get(pair, 0) + n
        if not counts:
            break
        winner = max(counts, key=counts.get)
        merges[winner] = new_id
        words = [merge(word, winner, new_id) for word in words]
    return merges

# %% train_bpe right (passed): functools.reduce carries the ids and the merges along
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    from functools import reduce

    def step(state, new_id):
        ids, merges = state
        counts = count_pairs(ids)
        if not counts:
            return state
        winner = max(counts, key=counts.get)
        return merge(ids, winner, new_id), {**merges, winner: new_id}

    return reduce(step, range(256, 256 + n_merges), (list(text.encode()), {}))[1]

# %% train_bpe right (passed): a stable sort by falling counts in place of max
def train_bpe(text: str, n_merges: int) -> dict[tuple[int, int], int]:
    ids, learnt = [*text.encode("utf8")], []
    while n_merges > len(learnt) and len(ids) > 1:
        (winner, _), *_ = sorted(count_pairs(ids).items(), key=lambda entry: -entry[1])
        ids = merge(ids, winner, len(learnt) + 256)
        learnt.append(winner)
    return dict(zip(learnt, range(256, 256 + len(learnt))))

# %% to_str_tokens wrong (misconception words): cuts at white space instead of asking the tokenizer
def to_str_tokens(text: str, tokenizer) -> list[str]:
    return text.split()

# %% to_str_tokens wrong (misconception only-the-space-translated): reads the entries of the vocabulary and puts the spaces back, but other bytes stay written as symbols
def to_str_tokens(text: str, tokenizer) -> list[str]:
    symbols = {i: token for token, i in tokenizer.get_vocab().items()}
    return [symbols[i].replace("Ġ", " ") for i in tokenizer.encode(text)]

# %% to_str_tokens wrong (misconception special-dropped): leaves special tokens out when it decodes, so the end of text becomes an empty string
def to_str_tokens(text: str, tokenizer) -> list[str]:
    return [tokenizer.decode([i], skip_special_tokens=True) for i in tokenizer.encode(text)]

# %% to_str_tokens wrong (misconception new-text-of-longer-beginnings): takes the difference of growing decoded texts, so the parts of a character are not marked each
def to_str_tokens(text: str, tokenizer) -> list[str]:
    ids, pieces, so_far = tokenizer.encode(text), [], ""
    for end in range(1, len(ids) + 1):
        longer = tokenizer.decode(ids[:end])
        pieces.append(longer[len(so_far) :])
        so_far = longer
    return pieces

# %% to_str_tokens wrong (misconception each-token-once): collects the pieces in a dict by id, so a repeated token is shown once
def to_str_tokens(text: str, tokenizer) -> list[str]:
    return list({i: tokenizer.decode(i) for i in tokenizer.encode(text)}.values())

# %% to_str_tokens wrong (misconception another-tokenizer): takes the course's tokenizer and ignores the one that is passed
def to_str_tokens(text: str, tokenizer) -> list[str]:
    _, tok = load_gpt2()
    return [tok.decode(i) for i in tok.encode(text)]

# %% to_str_tokens wrong (misconception words-one-by-one): encodes word by word, so the space before a word is not part of its token
def to_str_tokens(text: str, tokenizer) -> list[str]:
    pieces = []
    for word in text.split(" "):
        for i in tokenizer.encode(word):
            pieces.append(tokenizer.decode(i))
    return pieces

# %% to_str_tokens wrong (misconception spaces-stripped): takes the space off each piece
def to_str_tokens(text: str, tokenizer) -> list[str]:
    return [tokenizer.decode(token).strip() for token in tokenizer.encode(text)]

# %% to_str_tokens wrong (misconception characters): decodes all ids together and returns the letters
def to_str_tokens(text: str, tokenizer) -> list[str]:
    return [*tokenizer.decode(tokenizer.encode(text))]

# %% to_str_tokens wrong (difference prefix): leaves out the pieces that hold only part of a character
def to_str_tokens(text: str, tokenizer) -> list[str]:
    pieces = (tokenizer.decode(i) for i in tokenizer.encode(text))
    return [piece for piece in pieces if "\ufffd" not in piece]

# %% to_str_tokens wrong (misconception first-cut): drops the first token, as if it were a special token at the start
def to_str_tokens(text: str, tokenizer) -> list[str]:
    _, *ids = tokenizer.encode(text)
    return list(map(tokenizer.decode, ids))

# %% to_str_tokens right (passed): maps decode over the ids
def to_str_tokens(text: str, tokenizer) -> list[str]:
    return list(map(tokenizer.decode, tokenizer.encode(text)))

# %% to_str_tokens right (passed): decodes slices of length one in a while loop
def to_str_tokens(text: str, tokenizer) -> list[str]:
    ids, pieces = tokenizer.encode(text), []
    while len(pieces) < len(ids):
        here = len(pieces)
        pieces += [tokenizer.decode(ids[here : here + 1])]
    return pieces

# %% next_token_probs wrong (misconception over-the-batch): the softmax runs over the texts of the batch
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return torch.softmax(logits[:, -1], dim=0)

# %% next_token_probs wrong (misconception over-positions): the softmax runs over the positions before the last one is taken
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return logits.softmax(1)[:, -1, :]

# %% next_token_probs wrong (misconception last-text): takes the last text instead of the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return logits[-1].softmax(dim=-1)

# %% next_token_probs wrong (misconception loses-the-batch): a squeeze takes the batch axis away when there is one text
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return logits[:, -1:].softmax(dim=-1).squeeze()

# %% next_token_probs wrong (raised): always reads position 13, the last one of the page's prompt
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return logits[:, 13].softmax(dim=-1)

# %% next_token_probs wrong (misconception one-maximum-for-all): subtracts the best logit of the whole batch, so a text with much lower logits becomes nan
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    last = logits[:, -1]
    powers = (last - last.max()).exp()
    return powers / powers.sum(dim=-1, keepdim=True)

# %% next_token_probs wrong (property leaves_its_inputs): writes the powers into the caller's logits
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    last = logits[:, -1]
    last -= last.max(dim=-1, keepdim=True).values
    last.exp_()
    return last / last.sum(dim=-1, keepdim=True)

# %% next_token_probs wrong (misconception logarithm): returns the logarithms of the probabilities
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    import torch.nn.functional as F

    return F.log_softmax(logits[:, -1], dim=-1)

# %% next_token_probs wrong (misconception mean-of-the-guesses): averages the probabilities over all positions
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return logits.softmax(dim=-1).mean(dim=1)

# %% next_token_probs wrong (misconception first-text-in-a-batch): handles only the first text of the batch
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return torch.softmax(logits[0, -1], dim=0).unsqueeze(0)

# %% next_token_probs wrong (difference milestone): takes the position before the last one
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    position = logits.shape[1] - 1
    return logits[:, position - 1].softmax(dim=-1)

# %% next_token_probs right (passed): one text after the other, stacked
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return torch.stack([torch.softmax(text[-1], dim=0) for text in logits])

# %% next_token_probs right (passed): softmax at all positions, then select the last
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    everywhere = torch.nn.Softmax(dim=2)(logits)
    return everywhere.select(1, -1)

# %% generate wrong (misconception only-the-new): returns only the new tokens
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    start = tokens.shape[1]
    for _ in range(n_tokens):
        best = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat((tokens, best), dim=1)
    return tokens[:, start:]

# %% generate wrong (misconception first-text-only): the token of the first text is appended to all texts
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    for _ in range(n_tokens):
        best = model(tokens).logits[0, -1].argmax()
        tokens = torch.cat([tokens, best.expand(len(tokens), 1)], dim=1)
    return tokens

# %% generate wrong (misconception stops-at-the-end): stops as soon as every text has written the end of text
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    for _ in range(n_tokens):
        best = model(tokens).logits[:, -1, :].argmax(-1)
        tokens = torch.cat([tokens, best[:, None]], dim=1)
        if (best == 50256).all():
            break
    return tokens

# %% generate wrong (difference): asks the model once and appends its n best tokens
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    best = model(tokens).logits[:, -1].topk(n_tokens, dim=-1).indices
    return torch.cat([tokens, best], dim=1)

# %% generate wrong (misconception only-the-newest): shows the model only the newest token after the first round
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    seen = tokens
    for _ in range(n_tokens):
        seen = model(seen).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, seen], dim=1)
    return tokens

# %% generate wrong (difference): argmax without an axis counts through the whole batch, so it is right only for one text
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    for _ in range(n_tokens):
        best = model(tokens).logits[:, -1].argmax()
        tokens = torch.cat([tokens, best.repeat(tokens.shape[0], 1)], dim=1)
    return tokens

# %% generate wrong (dtype): fills a table of floats, so the ids come back as floats
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    batch, seq = tokens.shape
    out = torch.zeros(batch, seq + n_tokens)
    out[:, :seq] = tokens
    for end in range(seq, seq + n_tokens):
        out[:, end] = model(out[:, :end].long()).logits[:, -1].argmax(dim=-1)
    return out

# %% generate wrong (difference): never lets the model choose the end of text
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    for _ in range(n_tokens):
        logits = model(tokens).logits[:, -1].clone()
        logits[:, -1] = -float("inf")
        tokens = torch.cat([tokens, logits.argmax(dim=-1)[:, None]], dim=1)
    return tokens

# %% generate wrong (property leaves_its_inputs): makes the caller's tensor of tokens longer
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    for _ in range(n_tokens):
        best = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens.data = torch.cat([tokens, best], dim=1)
    return tokens

# %% generate wrong (misconception one-too-few): makes one token too few
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    for _ in range(1, n_tokens):
        guesses = model(tokens).logits.argmax(dim=-1)
        tokens = torch.hstack([tokens, guesses[:, -1:]])
    return tokens

# %% generate wrong (property sizes): the model sees only the last eight tokens of each text
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    for _ in range(n_tokens):
        window = tokens[:, -8:]
        best = model(window).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, best], dim=1)
    return tokens

# %% generate wrong (difference places): a text that has written the end of text is only padded with it from then on
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    done = torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
    for _ in range(n_tokens):
        best = model(tokens).logits[:, -1].argmax(dim=-1)
        best = best.masked_fill(done, 50256)
        done = done | (best == 50256)
        tokens = torch.cat([tokens, best.unsqueeze(1)], dim=1)
    return tokens

# %% generate wrong (misconception draws): samples from the probabilities instead of taking the most likely token
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    for _ in range(n_tokens):
        probs = next_token_probs(model(tokens).logits)
        tokens = torch.cat([tokens, torch.multinomial(probs, 1)], dim=1)
    return tokens

# %% generate right (passed): grows the text with hstack until it has the wanted length
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    wanted, texts = tokens.size(1) + n_tokens, tokens
    while texts.size(1) < wanted:
        guesses = model(texts).logits.argmax(dim=2)
        texts = torch.hstack([texts, guesses[:, -1:]])
    return texts

# %% generate right (passed): a table of ids made at the start and filled column by column
def generate(model, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch seq_and_new"]:
    batch, seq = tokens.shape
    out = tokens.new_zeros((batch, seq + n_tokens))
    out[:, :seq] = tokens
    with torch.no_grad():
        for end in range(seq, seq + n_tokens):
            out[:, end] = model(out[:, :end]).logits[:, -1].max(dim=-1).indices
    return out

# %% sample wrong (difference): the threshold is the smallest of the k-th best logits of all rows
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    scaled = logits / temperature
    threshold = scaled.topk(top_k, dim=-1).values.min()
    scaled = scaled.masked_fill(scaled < threshold, -torch.inf)
    return torch.multinomial(scaled.softmax(dim=-1), 1, generator=generator)[:, 0]

# %% sample wrong (misconception no-temperature): the temperature divides the probabilities, where it has no effect
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    kth = logits.topk(top_k, dim=-1).values[:, -1:]
    probs = logits.masked_fill(logits < kth, -torch.inf).softmax(dim=-1) / temperature
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)

# %% sample wrong (misconception place-not-token): returns the place among the k best tokens, not the token's id
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    best = (logits / temperature).topk(top_k, dim=-1)
    place = torch.multinomial(best.values.softmax(dim=-1), 1, generator=generator)
    return place.squeeze(1)

# %% sample wrong (raised): rules out with <=, so the k-th best token is lost as well
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    scaled = logits / temperature
    kth = scaled.sort(dim=-1, descending=True).values[:, [top_k - 1]]
    scaled = torch.where(scaled <= kth, -torch.inf, scaled)
    return torch.multinomial(torch.softmax(scaled, -1), 1, generator=generator).flatten()

# %% sample wrong (property draws_from_its_generator): one random number decides for all rows, so the rows are not independent
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    scaled = logits / temperature
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    probs = scaled.masked_fill(scaled < kth, -torch.inf).softmax(dim=-1)
    u = torch.rand(1, generator=generator)
    return (probs.cumsum(dim=-1) <= u).sum(dim=-1).clamp(max=probs.shape[-1] - 1)

# %% sample wrong (property draws_from_its_generator): draws from a copy of the generator, so the next call does not continue but repeats
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    scaled = logits / temperature
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    probs = scaled.masked_fill(scaled < kth, -torch.inf).softmax(dim=-1)
    own = torch.Generator()
    own.set_state(generator.get_state())
    return torch.multinomial(probs, 1, generator=own)[:, 0]

# %% sample wrong (raised): raises the probabilities to a power, and at a low temperature all of them become zero
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    probs = logits.softmax(dim=-1)
    kth = probs.topk(top_k, dim=-1).values[:, -1:]
    probs = probs.masked_fill(probs < kth, 0.0) ** (1 / temperature)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]

# %% sample wrong (misconception hundred-instead-of-never): rules tokens out with a logit of -100, which is not low when the logits themselves are that low
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    scaled = logits / temperature
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    scaled = scaled.masked_fill(scaled < kth, -100.0)
    return torch.multinomial(scaled.softmax(dim=-1), 1, generator=generator)[:, 0]

# %% sample wrong (property leaves_its_inputs): divides the caller's logits in place
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    logits /= temperature
    kth = logits.topk(top_k, dim=-1).values[:, -1, None]
    kept = torch.where(logits < kth, -torch.inf, logits)
    return torch.multinomial(kept.softmax(dim=-1), 1, generator=generator)[:, 0]

# %% sample wrong (property draws_from_its_generator): the noise of the draw comes from torch's global random numbers
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    scaled = logits / temperature
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    scaled = scaled.masked_fill(scaled < kth, -torch.inf)
    gumbel = -torch.log(torch.empty_like(scaled).exponential_())
    return (scaled + gumbel).argmax(dim=-1)

# %% sample wrong (misconception drops-the-batch): a squeeze without an axis takes the batch axis away when there is one row
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    scaled = logits / temperature
    kth = torch.topk(scaled, top_k)[0][:, -1:]
    scaled = scaled.masked_fill(scaled < kth, -torch.inf)
    return torch.multinomial(scaled.softmax(-1), 1, generator=generator).squeeze()

# %% sample wrong (raised): centres the logits on their mean and types exp by hand, which overflows at a low temperature
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    scaled = (logits - logits.mean(dim=-1, keepdim=True)) / temperature
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    powers = scaled.exp() * (scaled >= kth)
    probs = powers / powers.sum(dim=-1, keepdim=True)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]

# %% sample wrong (misconception zero-instead-of-never): the ruled-out tokens get the logit 0
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    scaled = logits / temperature
    kth = scaled.topk(top_k, dim=-1).values[:, -1:]
    scaled = scaled * (scaled >= kth)
    return torch.multinomial(scaled.softmax(dim=-1), 1, generator=generator)[:, 0]

# %% sample wrong (misconception first-texts-cut): the threshold is taken from the first row for all rows
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    scaled = logits / temperature
    kth = scaled[0].topk(top_k).values[-1]
    scaled = scaled.masked_fill(scaled < kth, float("-inf"))
    probs = scaled.softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]

# %% sample right (passed): a race of exponential waiting times, drawn from the generator
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    scaled = logits / temperature
    kth = scaled.topk(min(top_k, scaled.shape[-1]), dim=-1).values[:, -1:]
    probs = torch.where(scaled >= kth, scaled, -torch.inf).softmax(dim=-1)
    waiting = torch.empty_like(probs).exponential_(generator=generator)
    return (probs / waiting).argmax(dim=-1)

# %% sample right (passed): kthvalue for the threshold, and the temperature comes after it
def sample(
    logits: Float[Tensor, "batch vocab"], temperature: float, top_k: int, generator: torch.Generator
) -> Int[Tensor, "batch"]:
    vocab = logits.size(-1)
    k = vocab + 1 - min(top_k, vocab)
    kth = logits.kthvalue(k, dim=-1, keepdim=True).values
    kept = logits.masked_fill(logits.lt(kth), float("-inf")).div(temperature)
    drawn = torch.multinomial(torch.softmax(kept, dim=1), num_samples=1, generator=generator)
    return drawn.view(-1)
