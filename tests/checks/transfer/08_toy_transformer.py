# %% text_loss/already-shifted right: selects the marked positions
def text_loss(logits, tokens, marked):
    return F.cross_entropy(logits[marked], tokens[marked])
# %% text_loss/already-shifted right: marks the others as ignored
def text_loss(logits, tokens, marked):
    targets = torch.where(marked, tokens, -100)
    return F.cross_entropy(logits.transpose(1, 2), targets)
# %% text_loss/already-shifted right: from the logarithms of the probabilities
def text_loss(logits, tokens, marked):
    losses = -torch.log_softmax(logits, dim=-1).gather(2, tokens.unsqueeze(2)).squeeze(2)
    return (losses * marked).sum() / marked.sum()
# %% text_loss/already-shifted right: shifts the arguments, and uses the function of the lesson
def text_loss(logits, tokens, marked):
    start = torch.zeros(len(tokens), 1)
    tokens, marked = torch.cat((start.long(), tokens), dim=1), torch.cat((start.bool(), marked), dim=1)
    return answer_loss(torch.cat((logits, logits[:, -1:]), dim=1), tokens, marked)
# %% text_loss/two-ahead right: shifts by two positions
def text_loss(logits, tokens, marked):
    counts = marked[:, 2:]
    return F.cross_entropy(logits[:, :-2][counts], tokens[:, 2:][counts])
# %% text_loss/two-ahead right: moves the texts by one position, and uses the function of the lesson
def text_loss(logits, tokens, marked):
    return answer_loss(logits[:, :-1], tokens[:, 1:], marked[:, 1:])
# %% text_loss/two-ahead right: one token after the other
def text_loss(logits, tokens, marked):
    losses = []
    for b in range(tokens.shape[0]):
        for i in range(2, tokens.shape[1]):
            if marked[b, i]:
                losses.append(-logits[b, i - 2].log_softmax(0)[tokens[b, i]])
    return torch.stack(losses).mean()
# %% text_loss/true-hides right: selects the tokens without a mark
def text_loss(logits, tokens, marked):
    counts = ~marked[:, 1:]
    return F.cross_entropy(logits[:, :-1][counts], tokens[:, 1:][counts])
# %% text_loss/true-hides right: with the function of the lesson
def text_loss(logits, tokens, marked):
    return answer_loss(logits, tokens, ~marked)
# %% text_loss/true-hides right: from the logarithms of the probabilities
def text_loss(logits, tokens, marked):
    logs = logits[:, :-1].log_softmax(-1)
    losses = -logs.gather(2, tokens[:, 1:, None])[..., 0]
    losses = losses.masked_fill(marked[:, 1:], 0.0)
    return losses.sum() / (~marked[:, 1:]).sum()
# %% text_loss/backwards right: shifts in the other direction
def text_loss(logits, tokens, marked):
    counts = marked[:, :-1]
    return F.cross_entropy(logits[:, 1:][counts], tokens[:, :-1][counts])
# %% text_loss/backwards right: reverses the texts, and uses the function of the lesson
def text_loss(logits, tokens, marked):
    return answer_loss(logits.flip(1), tokens.flip(1), marked.flip(1))
# %% text_loss/backwards right: one token after the other
def text_loss(logits, tokens, marked):
    losses = []
    for b in range(tokens.shape[0]):
        for i in range(tokens.shape[1] - 1):
            if marked[b, i]:
                losses.append(-logits[b, i + 1].log_softmax(0)[tokens[b, i]])
    return torch.stack(losses).mean()
