"""Two mistakes at once: the result is wrong, and the call leaves something behind. The message names both."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from solutions import toy_transformer
from tests.feedback.answers import with_name
from utils.exercises.exercise import case, find_exercise
from utils.feedback.check import check
from utils.feedback.diagnose import diagnose


def step(model, optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    return loss.item()


def doubled_step(model, optimizer, batch):
    tokens, asked = batch
    return step(model, optimizer, 2 * toy_transformer.answer_loss(model(tokens), tokens, asked))


def step_on_all_tokens(model, optimizer, batch):
    tokens, _ = batch
    logits = model(tokens)[:, :-1]
    return step(model, optimizer, F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()))


@torch.no_grad()
def streams(model, tokens):
    """Run the model, and leave it in the mode that it does not have."""
    model.train(not model.training)
    stream = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    rows = [stream[0, -1]]
    for block in model.blocks:
        stream = block(stream)
        rows.append(stream[0, -1])
    return torch.stack(rows)


@torch.no_grad()
def doubled_lens(model, tokens):
    return 2 * model.ln_f(streams(model, tokens)) @ model.wte.weight.T


@torch.no_grad()
def lens_without_norm(model, tokens):
    return streams(model, tokens) @ model.wte.weight.T


@pytest.mark.parametrize(
    "exercise, answer, result, left_behind",
    [
        ("training_step", doubled_step, "`loss` is ", "the model is in eval mode after the step"),
        ("logit_lens", doubled_lens, "`logits`, row 0, column 0 is ", "the model is in training mode after the call"),
    ],
)
def test_a_wrong_number_and_a_changed_mode(exercise, answer, result, left_behind):
    message = check(with_name(exercise, answer)).message
    assert message.startswith("In 4 of 4 cases the result differs; ") and result in message
    assert message.endswith(f". In addition, {left_behind}.")
    assert "changed its input" not in message  # one sentence for each mistake


@pytest.mark.parametrize(
    "exercise, answer, misconception, left_behind",
    [
        ("training_step", step_on_all_tokens, "everything-asked", "the model is in eval mode after the step"),
        ("logit_lens", lens_without_norm, "no-final-norm", "the model is in training mode after the call"),
    ],
)
def test_a_misconception_and_a_changed_mode(exercise, answer, misconception, left_behind):
    report = check(with_name(exercise, answer))
    (words,) = [each.message for each in find_exercise(exercise).misconceptions if each.id == misconception]
    assert report.misconception == misconception
    assert report.message == f"{words} In addition, {left_behind}."


@pytest.fixture
def apply_model(declare_exercise):
    return declare_exercise(
        "apply_model",
        oracle=lambda model, x: model(x),
        cases=lambda rand: [case(nn.Linear(3, 2), rand(4, 3)), case(nn.Linear(2, 2).eval(), rand(2, 2))],
        differentiable=False,
        misconceptions={"no-bias": (lambda model, x: x @ model.weight.T, "The bias is missing.")},
    )


def test_a_changed_mode_is_named_without_a_view(apply_model):
    def shifted(model, x):
        return model.eval()(x) + 1

    def without_bias(model, x):
        return x @ model.eval().weight.T

    left_behind = " In addition, `model` is in eval mode after the call. Leave its mode unchanged."
    assert diagnose(apply_model, shifted).message.endswith(f" +1 in this case.{left_behind}")
    assert diagnose(apply_model, without_bias).message == f"The bias is missing.{left_behind}"


def test_a_right_result_and_a_changed_mode_are_one_mistake(apply_model):
    message = diagnose(apply_model, lambda model, x: model.eval()(x)).message
    left_behind = "`model` is in eval mode after the call. Leave its mode unchanged."
    assert message == f"The result is right, but {left_behind}"
