"""Older notebooks still run: they import the models by their former names."""

import pytest

import utils

OLD = {
    "toy": ("toy_transformer", {"copying": "copying_weights", "lookup": "weight_on_copied_letter"}),
    "sorting": ("abc_sorter", {}),
    "regression": ("icl_regression", {}),
    "copying": ("gram_attention", {"with_room": "upcast", "look_back": "weight_by_distance"}),
}


@pytest.mark.parametrize("old", OLD)
def test_an_old_name_is_the_new_thing(old):
    new, functions = OLD[old]
    module = getattr(utils, old)
    assert module.__name__ == f"utils.models.{new}"
    assert all(getattr(module, before) is getattr(module, now) for before, now in functions.items())
