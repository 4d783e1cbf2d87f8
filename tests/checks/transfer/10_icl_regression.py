# %% answer_after_descent/intercept right: the means of x times y and of y
def answer_after_descent(x_q, x, y):
    beta = x.mT @ y / x.shape[1]
    return x_q @ beta + y.mean(dim=1, keepdim=True)
# %% answer_after_descent/intercept right: a 1 as an additional entry of x
def answer_after_descent(x_q, x, y):
    x, x_q = (torch.cat((t, torch.ones_like(t[..., :1])), dim=-1) for t in (x, x_q))
    return x_q @ (x.mT @ y) / x.shape[1]
# %% answer_after_descent/intercept right: a weight for each question and example
def answer_after_descent(x_q, x, y):
    weights = (x_q @ x.mT + 1) / x.shape[1]
    return weights @ y
# %% answer_after_descent/fixed-intercept right: the mean of x times y - 1
def answer_after_descent(x_q, x, y):
    beta = x.mT @ (y - 1) / x.shape[1]
    return x_q @ beta + 1
# %% answer_after_descent/fixed-intercept right: a weight for each question and example
def answer_after_descent(x_q, x, y):
    weights = x_q @ x.mT / x.shape[1]
    return 1 + weights @ y - weights.sum(-1, keepdim=True)
# %% answer_after_descent/fixed-intercept right: with autograd
def answer_after_descent(x_q, x, y):
    with torch.enable_grad():
        beta = torch.zeros_like(x[:, 0, :, None]).requires_grad_()
        loss = 0.5 * ((x.detach() @ beta + 1 - y.detach()) ** 2).mean(dim=1).sum()
        (slope,) = torch.autograd.grad(loss, beta)
    return 1 - x_q @ slope
# %% answer_after_descent/absolute-error right: the mean of x times the sign
def answer_after_descent(x_q, x, y):
    return x_q @ (x.mT @ y.sign()) / x.shape[1]
# %% answer_after_descent/absolute-error right: with autograd
def answer_after_descent(x_q, x, y):
    with torch.enable_grad():
        beta = torch.zeros_like(x[:, 0, :, None]).requires_grad_()
        loss = (x.detach() @ beta - y.detach()).abs().mean(dim=1).sum()
        (slope,) = torch.autograd.grad(loss, beta)
    return x_q @ -slope
# %% answer_after_descent/absolute-error right: with comparisons
def answer_after_descent(x_q, x, y):
    up = (y > 0).to(x.dtype) - (y < 0).to(x.dtype)
    beta = (up * x).mean(dim=1)
    return (x_q * beta[:, None]).sum(dim=-1, keepdim=True)
# %% answer_after_descent/huber right: the mean of x times the limited y
def answer_after_descent(x_q, x, y):
    beta = x.mT @ y.clamp(-1, 1) / x.shape[1]
    return x_q @ beta
# %% answer_after_descent/huber right: with autograd and torch's loss
def answer_after_descent(x_q, x, y):
    with torch.enable_grad():
        beta = torch.zeros_like(x[:, 0, :, None]).requires_grad_()
        loss = torch.nn.functional.huber_loss(x.detach() @ beta, y.detach(), reduction="sum") / x.shape[1]
        (slope,) = torch.autograd.grad(loss, beta)
    return -x_q @ slope
# %% answer_after_descent/huber right: with where
def answer_after_descent(x_q, x, y):
    pull = torch.where(y.abs() <= 1, y, y.sign())
    return (x_q @ x.mT) @ pull / x.shape[1]
