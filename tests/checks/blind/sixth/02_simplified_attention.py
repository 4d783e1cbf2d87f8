# %% softmax wrong (misconception highest-gets-least): the highest score gets the smallest weight
def softmax(x, dim):
    powers = torch.exp(x.amax(dim=dim, keepdim=True) - x)
    return powers / powers.sum(dim=dim, keepdim=True)

# %% softmax wrong (misconception multiplied-by-the-sum): times the sum
def softmax(x, dim):
    powers = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return powers * powers.sum(dim=dim, keepdim=True)
