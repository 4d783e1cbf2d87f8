"""Lesson 10: one attention layer learns linear regression in context. Data, layers, training, estimators, measurements.

A prompt is `z`, L examples (x_i, y_i) of one linear function, and `z_q`, a question (x_q, 0); the answer is y_q = β·x_q.
Shapes: `n` prompts, `L` examples, `d` entries of x, `D = d + 1` entries of a token, `queries` questions about the same examples.
"""

from utils.regression.data import Prompts, draw
from utils.regression.estimators import best_mu, centred_step, gradient_step, kernel, least_squares, ridge, step_loss
from utils.regression.evaluation import Curves, error_curves, mean_squared_error
from utils.regression.experiment import RegressionConfig, Run, stored, train
from utils.regression.layers import HeadStatistics, build, circuits, statistics

__all__ = [
    "Prompts", "draw",
    "build", "circuits", "statistics", "HeadStatistics",
    "RegressionConfig", "Run", "train", "stored",
    "kernel", "gradient_step", "centred_step", "ridge", "least_squares", "best_mu", "step_loss",
    "mean_squared_error", "error_curves", "Curves",
]
