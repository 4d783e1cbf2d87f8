"""Provide in-context linear regression with one attention layer, for lesson 10.

The modules contain the data, the layers, the training, the estimators and the measurements.

In a prompt, `z` contains L examples (x_i, y_i) of one linear function β·x, and `z_q` is a question (x_q, 0). The answer
is y_q = β·x_q.
In shapes, `n` counts the prompts, `L` the examples in a prompt, `d` the entries in x, `D = d + 1` the entries in a
token, and `queries` the questions about the same examples.
"""

from utils.models.icl_regression.config import RegressionConfig
from utils.models.icl_regression.data import Prompts, draw
from utils.models.icl_regression.estimators import (
    best_mu,
    centred_step,
    gradient_step,
    gradient_step_loss,
    kernel,
    least_squares,
    ridge,
)
from utils.models.icl_regression.evaluation import error_curves, mean_squared_error
from utils.models.icl_regression.experiment import Run, stored, stored_study, train
from utils.models.icl_regression.layers import build_model, circuits, statistics

__all__ = [
    "Prompts",
    "RegressionConfig",
    "Run",
    "best_mu",
    "build_model",
    "centred_step",
    "circuits",
    "draw",
    "error_curves",
    "gradient_step",
    "gradient_step_loss",
    "kernel",
    "least_squares",
    "mean_squared_error",
    "ridge",
    "statistics",
    "stored",
    "stored_study",
    "train",
]
