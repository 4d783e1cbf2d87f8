"""Write answers and read reports in the tests of the engine."""

import re

from torch import nn

from utils.feedback.diagnose import diagnose


def with_name(name, answer):
    answer.__name__ = name
    return answer


def failure_message(exercise_, answer):
    report = diagnose(exercise_, answer)
    assert report.status == "failed", str(report)
    return report.message


def stable(message):
    """Replace lines and decimal fractions by placeholders, because they depend on the test file or the platform."""
    return re.sub(r"-?\d+\.\d{3,}", "#.###", re.sub(r"line \d+ \(`.*?`\)", "line N (`code`)", message))


class Affine(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.layer = nn.Linear(d_in, d_out)

    def forward(self, x):
        return self.layer(x)
