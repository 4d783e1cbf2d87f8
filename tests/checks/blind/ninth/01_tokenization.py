# %% merge wrong (property spells_the_same): looks only at the positions 0, 2, 4 and so on, so a pair that starts at an odd position is missed
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    result = []
    for start in range(0, len(ids), 2):
        two = ids[start : start + 2]
        if tuple(two) == tuple(pair):
            result.append(new_id)
        else:
            result.extend(two)
    return result


# %% merge wrong (misconception either-order): merges the two ids in the reverse order too, because it compares sets
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    merged, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and {ids[i], ids[i + 1]} == set(pair):
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


# %% merge wrong (misconception overlapping): finds all places first, overlapping ones too, so that three equal ids become two new ids
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    starts = {i for i, two in enumerate(zip(ids, ids[1:])) if two == tuple(pair)}
    out = []
    for i, token in enumerate(ids):
        if i in starts:
            out.append(new_id)
        elif i - 1 not in starts:
            out.append(token)
    return out


# %% merge wrong (property spells_the_same): always appends the last id at the end, even if it has just been merged
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    out, skip = [], False
    for a, b in zip(ids, ids[1:]):
        if skip:
            skip = False
        elif (a, b) == tuple(pair):
            out.append(new_id)
            skip = True
        else:
            out.append(a)
    return out + ids[-1:]


# %% merge wrong (property spells_the_same): compares ids with "is", which fails for equal ids above 256 that are different objects
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    first, second = pair
    result = []
    position = 0
    while position < len(ids):
        here = ids[position]
        after = ids[position + 1] if position + 1 < len(ids) else None
        if here is first and after is second:
            result.append(new_id)
            position += 2
        else:
            result.append(here)
            position += 1
    return result


# %% merge wrong (misconception as-a-string): replaces in a text of numbers without borders, so the pair 1 2 is also found in 11 2 and in 1 25
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    line = " ".join(map(str, ids))
    line = line.replace(f"{pair[0]} {pair[1]}", str(new_id))
    return [int(number) for number in line.split()]


# %% merge right (passed): replaces in a text in which every number has its own brackets
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    line = "".join(f"<{i}>" for i in ids)
    line = line.replace("<{}><{}>".format(*pair), f"<{new_id}>")
    return [int(number.strip("<>")) for number in line.replace("><", "> <").split()]


# %% merge right (passed): a generator whose step is one plus the truth of the match
def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    def pieces():
        i = 0
        while i < len(ids):
            hit = tuple(ids[i : i + 2]) == tuple(pair)
            yield new_id if hit else ids[i]
            i += 1 + hit

    return list(pieces())


# %% next_token_probs wrong (raised): reads position 13, the last one of the prompt of 14 tokens, in a text of any length
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return torch.softmax(logits[:, 13], dim=-1)


# %% next_token_probs wrong (misconception mean-of-the-guesses): averages the probabilities of all positions instead of reading the last position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    probs = logits.softmax(dim=2)
    return probs.mean(dim=1)


# %% next_token_probs wrong (difference milestone): reads the last position but one, because position j scores token j + 1
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    last_token = logits.shape[1] - 1
    j = last_token - 1
    return logits[:, j, :].softmax(dim=-1)


# %% next_token_probs wrong (difference milestone): limits the logits to between -50 and 50, so larger ones lose their differences
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    powers = logits[:, -1].clamp(-50, 50).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


# %% next_token_probs wrong (misconception one-maximum-for-all): subtracts the maximum of the whole batch, so a text whose logits are far lower than another's becomes nan
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    last = logits[:, -1]
    powers = torch.exp(last - last.max())
    return powers / powers.sum(-1, keepdim=True)


# %% next_token_probs wrong (misconception one-sum-for-all): one softmax over all texts together, so the rows sum to one only for a batch of one
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    last = logits[:, -1, :]
    return last.flatten().softmax(dim=0).view_as(last)


# %% next_token_probs right (passed): the exponential of log_softmax at the selected position
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    return logits.select(1, -1).log_softmax(dim=-1).exp()


# %% next_token_probs right (passed): unbinds the positions and keeps the last one
def next_token_probs(logits: Float[Tensor, "batch seq vocab"]) -> Float[Tensor, "batch vocab"]:
    *_, final = logits.unbind(dim=1)
    return torch.nn.Softmax(dim=1)(final)
