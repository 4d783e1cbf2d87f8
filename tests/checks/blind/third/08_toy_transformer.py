# %% answer_loss wrong (misconception its-own-token): no shift, each position is scored on its own token
def answer_loss(logits, tokens, asked):
    return F.cross_entropy(logits[asked], tokens[asked])


# %% answer_loss wrong (misconception asks-the-place-before): the mask is not shifted with the tokens, it is used for the places that tell
def answer_loss(logits, tokens, asked):
    m = asked[:, :-1]
    return F.cross_entropy(logits[:, :-1][m], tokens[:, 1:][m])


# %% answer_loss wrong (misconception everything-asked): over all tokens, asked is never used
def answer_loss(logits, tokens, asked):
    vocab = logits.shape[-1]
    return F.cross_entropy(logits[:, :-1].reshape(-1, vocab), tokens[:, 1:].reshape(-1))


# %% answer_loss wrong (misconception shared-among-all): multiplies by the mask and then takes the mean over everything
def answer_loss(logits, tokens, asked):
    vocab = logits.shape[-1]
    loss = F.cross_entropy(logits[:, :-1].reshape(-1, vocab), tokens[:, 1:].reshape(-1), reduction="none")
    return (loss * asked[:, 1:].reshape(-1).float()).mean()


# %% answer_loss wrong (misconception softmax-twice): softmax before cross_entropy
def answer_loss(logits, tokens, asked):
    probs = F.softmax(logits, dim=-1)
    wanted = asked[:, 1:]
    return F.cross_entropy(probs[:, :-1][wanted], tokens[:, 1:][wanted])


# %% answer_loss wrong (structure): returns a plain float, through which no gradient flows
def answer_loss(logits, tokens, asked):
    wanted = asked[:, 1:]
    return F.cross_entropy(logits[:, :-1][wanted], tokens[:, 1:][wanted]).item()


# %% answer_loss wrong (misconception padding-left-out): ignore_index=0 instead of asked, as with padding
def answer_loss(logits, tokens, asked):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=0)


# %% answer_loss wrong (raised): passes [batch, seq, vocab] to cross_entropy as it is, which takes axis 1 for the vocabulary
def answer_loss(logits, tokens, asked):
    return F.cross_entropy(logits[:, :-1], tokens[:, 1:])


# %% answer_loss wrong (misconception log-of-the-mean): the mean probability of the right tokens and only then the logarithm
def answer_loss(logits, tokens, asked):
    p = logits[:, :-1].softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)
    return -torch.log(p[asked[:, 1:]].mean())


# %% answer_loss wrong (misconception backwards-marked-later): shifts the other way, logits from place 1 on against tokens up to the last
def answer_loss(logits, tokens, asked):
    return F.cross_entropy(logits[:, 1:][asked[:, 1:]], tokens[:, :-1][asked[:, 1:]])


# %% answer_loss right (passed): boolean index after the shift
def answer_loss(logits, tokens, asked):
    scores, right, keep = logits[:, :-1, :], tokens[:, 1:], asked[:, 1:]
    return F.cross_entropy(scores[keep], right[keep], reduction="mean")


# %% answer_loss right (passed): ignore_index marks what is not asked
def answer_loss(logits, tokens, asked):
    target = torch.where(asked, tokens, torch.full_like(tokens, -100))[:, 1:]
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), target.flatten())


# %% answer_loss wrong (property finite): softmax, gather and logarithm by hand; right until the page asked for a finite loss
def answer_loss(logits, tokens, asked):
    p = torch.softmax(logits[:, :-1], dim=-1)
    p = torch.gather(p, 2, tokens[:, 1:].unsqueeze(-1)).squeeze(-1)
    return -(torch.log(p) * asked[:, 1:]).sum() / asked[:, 1:].sum()


# %% answer_loss right (passed): places found with nonzero, one step back
def answer_loss(logits, tokens, asked):
    rows, places = asked.nonzero(as_tuple=True)
    return F.nll_loss(logits[rows, places - 1].log_softmax(dim=-1), tokens[rows, places])


# %% training_step wrong (misconception old-gradients-added): never forgets the gradients
def training_step(model, optimizer, batch):
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception old-gradients-added): forgets the gradients only after the step
def training_step(model, optimizer, batch):
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


# %% training_step wrong (misconception no-gradients): zero_grad between backward and step
def training_step(model, optimizer, batch):
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception no-step): no step
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    return loss.item()


# %% training_step wrong (misconception step-before-backward): the step comes before backward
def training_step(model, optimizer, batch):
    optimizer.zero_grad()
    loss = answer_loss(model(batch[0]), *batch)
    optimizer.step()
    loss.backward()
    return loss.item()


# %% training_step wrong (misconception loss-as-a-tensor): returns the tensor
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss


# %% training_step wrong (structure): forgets return
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()


# %% training_step wrong (raised): passes the whole batch to the model
def training_step(model, optimizer, batch):
    optimizer.zero_grad()
    loss = answer_loss(model(batch), batch)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception eval-mode): switches to eval mode for the loss and leaves it so
def training_step(model, optimizer, batch):
    model.eval()
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return float(loss)


# %% training_step wrong (raised): forward pass under no_grad
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    with torch.no_grad():
        loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception everything-asked): goes down the loss of all tokens, without asked
def training_step(model, optimizer, batch):
    tokens, asked = batch
    logits = model(tokens)
    loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step wrong (property one_step_of_its_optimizer): makes an optimizer of its own
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step wrong (property one_step_of_its_optimizer): trains in a loop until the loss falls
def training_step(model, optimizer, batch):
    tokens, asked = batch
    for _ in range(10):
        optimizer.zero_grad()
        loss = answer_loss(model(tokens), tokens, asked)
        loss.backward()
        optimizer.step()
    return loss.item()


# %% training_step wrong (difference rounded): returns the loss rounded to two places
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return round(loss.item(), 2)


# %% training_step right (passed): in the usual order, with train mode first
def training_step(model, optimizer, batch):
    model.train()
    tokens, asked = batch
    logits = model(tokens)
    loss = answer_loss(logits, tokens, asked)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step right (passed): gradients set to None by hand
def training_step(model, optimizer, batch):
    for p in model.parameters():
        p.grad = None
    x, wanted = batch
    loss = answer_loss(logits=model(x), tokens=x, asked=wanted)
    loss.backward()
    optimizer.step()
    return float(loss)


# %% training_step right (passed): the optimizer's own parameters, gradients through autograd.grad
def training_step(model, optimizer, batch):
    x, wanted = batch
    loss = answer_loss(model(x), x, wanted)
    params = [p for group in optimizer.param_groups for p in group["params"]]
    for p, g in zip(params, torch.autograd.grad(loss, params)):
        p.grad = g
    optimizer.step()
    return loss.tolist()


# %% training_step right (passed): its own cross-entropy, forgets before and after
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    loss = F.cross_entropy(model(tokens)[:, :-1][asked[:, 1:]], tokens[:, 1:][asked[:, 1:]])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach().cpu().item()
