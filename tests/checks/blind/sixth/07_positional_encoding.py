# %% PositionalEncoding wrong (property takes): the table has 5000 rows, whatever max_len is
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(5000.0), d_model))

    def forward(self, x):
        if x.shape[-2] > self.max_len:
            raise ValueError("the text is longer than max_len")
        return x + self.pe[: x.shape[-2]]

# %% positional_encoding wrong (property angles): i counts in steps of two, and is doubled again
def positional_encoding(position, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError("d_model must be even")
    i = torch.arange(0, d_model, 2, device=position.device)
    angles = position[:, None] / base ** (2 * i / d_model)
    pe = torch.zeros(len(position), d_model, device=position.device)
    pe[:, 0::2] = angles.sin()
    pe[:, 1::2] = angles.cos()
    return pe
