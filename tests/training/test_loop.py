"""Compare the training loop with results computed by hand: a quadratic, the schedules, Ctrl-C, a seed."""

import math

import pytest
import torch

from utils.training.loop import constant_schedule, cosine_schedule, one_cycle_schedule, train


def quadratic():
    """Return x and the loss (x − 3)²: with rate r, each step multiplies x − 3 by 1 − 2r."""
    x = torch.nn.Parameter(torch.tensor(5.0))
    return x, lambda step: (x - 3) ** 2


def test_a_quadratic_goes_where_the_sum_says() -> None:
    x, loss = quadratic()
    history = train(loss, torch.optim.SGD([x], lr=0.1), 10, log_every=1, progress=False)
    assert x.item() == pytest.approx(3 + 2 * 0.8**10, abs=1e-5)
    assert history.losses == pytest.approx([(2 * 0.8**step) ** 2 for step in range(10)], rel=1e-4)
    assert (history.steps, history.done, history.interrupted) == (list(range(10)), 10, False) and history.seconds > 0


def test_each_group_keeps_its_own_rate_under_the_schedule_and_has_it_back() -> None:
    a, b = (torch.nn.Parameter(torch.zeros(())) for _ in range(2))
    optimiser = torch.optim.SGD([{"params": [a], "lr": 0.1}, {"params": [b], "lr": 1.0}])
    train(lambda step: a + b, optimiser, 4, schedule=lambda step, steps: step / steps, progress=False)
    assert (a.item(), b.item()) == pytest.approx((-0.1 * 1.5, -1.5))  # 0 + 1/4 + 2/4 + 3/4
    assert [group["lr"] for group in optimiser.param_groups] == [0.1, 1.0]


def test_several_optimisers_take_a_step_each() -> None:
    a, b = (torch.nn.Parameter(torch.zeros(())) for _ in range(2))
    train(
        lambda step: a + b,
        [torch.optim.SGD([a], lr=0.1), torch.optim.SGD([b], lr=1.0)],
        3,
        schedule=cosine_schedule,
        progress=False,
    )
    assert (a.item(), b.item()) == pytest.approx((-0.1 * 2, -2.0))  # 1 + 3/4 + 1/4
    assert a.grad is b.grad is None


def test_schedules_have_the_values_of_the_formula() -> None:
    assert [constant_schedule(step, 3) for step in range(3)] == [1, 1, 1]
    assert [cosine_schedule(step, 4) for step in range(4)] == pytest.approx(
        [1, (2 + math.sqrt(2)) / 4, 0.5, (2 - math.sqrt(2)) / 4]
    )
    assert [one_cycle_schedule(step, 20) for step in (0, 1, 2, 11)] == pytest.approx([0.5, 1, 1, 0.5])
    assert [one_cycle_schedule(step, 8, warmup=0.5) for step in range(8)] == pytest.approx(
        [0.25, 0.5, 0.75, 1, *(cosine_schedule(step, 4) for step in range(4))]
    )
    assert one_cycle_schedule(0, 1) == one_cycle_schedule(0, 2) == 1


def test_gradients_are_clipped_together() -> None:
    a, b = (torch.nn.Parameter(torch.zeros(())) for _ in range(2))
    train(lambda step: 30 * a + 40 * b, torch.optim.SGD([a, b], lr=1.0), 1, clip=1.0, progress=False)
    assert (a.item(), b.item()) == pytest.approx((-0.6, -0.8), abs=1e-5)


def test_the_last_loss_is_always_read() -> None:
    x, loss = quadratic()
    assert train(loss, torch.optim.SGD([x], lr=0.1), 8, log_every=5, progress=False).steps == [0, 5, 7]


def test_ctrl_c_keeps_what_is_done() -> None:
    x, loss = quadratic()

    def interrupted(step: int) -> torch.Tensor:
        if step == 3:
            raise KeyboardInterrupt
        return loss(step)

    history = train(interrupted, torch.optim.SGD([x], lr=0.1), 10, progress=False)
    assert history.interrupted and history.done == 3
    assert x.item() == pytest.approx(3 + 2 * 0.8**3, abs=1e-5) and x.grad is None


def test_the_same_seed_gives_the_same_weights() -> None:
    def run(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        layer = torch.nn.Linear(4, 2)
        train(
            lambda step: layer(torch.randn(8, 4)).square().mean(),
            torch.optim.AdamW(layer.parameters(), lr=0.01),
            20,
            schedule=one_cycle_schedule,
            progress=False,
        )
        return layer.weight.detach()

    assert torch.equal(run(1), run(1)) and not torch.equal(run(1), run(2))


def test_a_loss_that_is_no_number_is_told_with_the_cure() -> None:
    x = torch.nn.Parameter(torch.ones(2))
    optimiser = torch.optim.SGD([x], lr=0.1)
    with pytest.raises(ValueError, match=r"shape \[2\]"):
        train(lambda step: x * 2, optimiser, 3, progress=False)
    with pytest.raises(ValueError, match="nan at step 0"):
        train(lambda step: (x * math.nan).sum(), optimiser, 3, progress=False)
    assert torch.equal(x.data, torch.ones(2))


def test_the_bar_is_there_unless_silence_is_asked_for(capsys: pytest.CaptureFixture) -> None:
    for progress in (False, True):
        x, loss = quadratic()
        train(loss, torch.optim.SGD([x], lr=0.1), 3, progress=progress, title="a parabola")
        out = capsys.readouterr()
        assert ("a parabola" in out.err and "3/3" in out.err) == progress and out.out == ""


@pytest.mark.parametrize("parameters, threads", [(999_999, 1), (1_000_000, 2)])
def test_a_small_model_is_trained_on_one_thread_and_the_others_are_given_back(parameters: int, threads: int) -> None:
    x, seen, before = torch.nn.Parameter(torch.zeros(parameters)), [], torch.get_num_threads()

    def loss(step):
        seen.append(torch.get_num_threads())
        if step == 1:
            raise KeyboardInterrupt
        return x.sum()

    torch.set_num_threads(2)
    try:
        history = train(loss, torch.optim.SGD([x], lr=0.1), 3, progress=False)
        assert (seen, torch.get_num_threads(), history.done) == ([threads] * 2, 2, 1)
    finally:
        torch.set_num_threads(before)
