# %% PositionalEncoding wrong (property adds_its_rows): scales x by root of width for wide vectors
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("odd")
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        n = x.shape[-2]
        if n > len(self.pe):
            raise ValueError("long")
        return x * (1 if x.shape[-1] < 512 else x.shape[-1] ** 0.5) + self.pe[:n]
