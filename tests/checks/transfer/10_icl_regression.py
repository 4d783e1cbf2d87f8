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
# %% answer_after_descent/from-ones right: the step from the start
def answer_after_descent(x_q, x, y):
    beta = torch.ones(x.shape[0], x.shape[2], 1, dtype=x.dtype)
    beta = beta - x.mT @ (x @ beta - y) / x.shape[1]
    return x_q @ beta
# %% answer_after_descent/from-ones right: with autograd
def answer_after_descent(x_q, x, y):
    with torch.enable_grad():
        beta = torch.ones_like(x[:, 0, :, None]).requires_grad_()
        loss = 0.5 * ((x.detach() @ beta - y.detach()) ** 2).mean(dim=1).sum()
        (slope,) = torch.autograd.grad(loss, beta)
    return x_q @ (beta.detach() - slope)
# %% answer_after_descent/from-ones right: one prompt after the other
def answer_after_descent(x_q, x, y):
    answers = []
    for questions, examples, right in zip(x_q, x, y):
        left = right[:, 0] - examples.sum(1)
        beta = 1 + (left[:, None] * examples).mean(0)
        answers.append(questions @ beta[:, None])
    return torch.stack(answers)
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
# %% answer_after_descent/two-steps right: a loop over the steps
def answer_after_descent(x_q, x, y):
    beta = torch.zeros(x.shape[0], x.shape[2], 1, dtype=x.dtype)
    for _ in range(2):
        beta = beta + x.mT @ (y - x @ beta) / x.shape[1]
    return x_q @ beta
# %% answer_after_descent/two-steps right: what the first step left unexplained
def answer_after_descent(x_q, x, y):
    n_examples = x.shape[1]
    left = y - x @ (x.mT @ y) / n_examples
    return x_q @ (x.mT @ y) / n_examples + x_q @ (x.mT @ left) / n_examples
# %% answer_after_descent/two-steps right: with autograd
def answer_after_descent(x_q, x, y):
    beta = torch.zeros_like(x[:, 0, :, None])
    for _ in range(2):
        with torch.enable_grad():
            beta = beta.detach().requires_grad_()
            loss = 0.5 * (x.detach() @ beta - y.detach()).square().mean(dim=1).sum()
            (slope,) = torch.autograd.grad(loss, beta)
        beta = beta.detach() - slope
    return x_q @ beta
