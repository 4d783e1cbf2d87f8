"""A new lesson that passes from its first minute: its page, its checks and its test, around the exercise that CONTRIBUTING.md shows.

Every sentence of the page says what belongs in its place, and keeps to what `tests/test_voice.py` asks of a lesson.
"""

from __future__ import annotations

import keyword
import re
from pathlib import Path

from utils import lessons
from utils.lessons import ROOT

EXERCISE = "most_attended"  # what CONTRIBUTING.md calls it


class ScaffoldError(ValueError):
    """The lesson cannot be made; nothing was written."""


def new(name: str, title: str | None = None, exercise: str | None = None, root: Path = ROOT) -> list[Path]:
    """Write the three files of a lesson called `name` ("flash_attention", or "12_flash_attention"); the number is the next free one.

    Raises:
        ScaffoldError: the name is not one, or something of it is there already.
    """
    number, stem = re.fullmatch(r"(?:(\d\d)_)?(.*)", name, re.DOTALL).groups()
    _require_name(stem, "A lesson")
    taken = {path.stem[:2]: path.stem for path in lessons.all_lessons(root / "solutions")}
    number = number or f"{max(map(int, taken), default=-1) + 1:02d}"
    if stem in (of[3:] for of in taken.values()):
        raise ScaffoldError(f"There is a lesson {stem} already; choose another name.")
    if number in taken:
        raise ScaffoldError(f"Number {number} is taken by {taken[number]}; leave it out for the next free one.")
    exercise = exercise or EXERCISE
    _require_name(exercise, "An exercise")
    for path in sorted((root / "utils" / "checks").glob("*.py")):
        if re.search(rf'(?m)^exercise\(\s*"{exercise}"', path.read_text(encoding="utf-8")):
            raise ScaffoldError(f"There is an exercise {exercise} in {path.relative_to(root)} already; name yours with --exercise.")
    texts = _texts(number, stem, title or stem.replace("_", " ").capitalize(), exercise, root)
    there = [str(path.relative_to(root)) for path in texts if path.exists()]
    if there:
        raise ScaffoldError(f"{' and '.join(there)} {'is' if len(there) == 1 else 'are'} there already; choose another name.")
    made: list[Path] = []
    try:
        for path, text in texts.items():
            with path.open("x", encoding="utf-8") as file:
                made.append(path)
                file.write(text)
    except OSError:  # all three, or none
        for path in made:
            path.unlink()
        raise
    return made


def _require_name(name: str, what: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise ScaffoldError(f"{what} cannot be called {name!r}; use small letters, digits and _, as in flash_attention.")


def _texts(number: str, stem: str, title: str, exercise: str, root: Path) -> dict[Path, str]:
    page = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = re.search(r"(?ms)^~~~markdown\n(.*?)^~~~$", page)
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", re.sub(r"(?ms)^~~~markdown\n.*?^~~~$", "", page))
    if not shown or len(blocks) < 2 or EXERCISE not in shown[1]:
        raise ScaffoldError("CONTRIBUTING.md no longer shows an exercise in three parts; a lesson is made around it.")
    gap, checks, right = (text.replace(EXERCISE, exercise).strip() for text in (shown[1], *blocks[:2]))
    words = {"number": number, "stem": stem, "title": title, "exercise": exercise, "gap": gap, "checks": checks, "right": right}
    fill = lambda text: re.sub(r"<<(\w+)>>", lambda match: words[match[1]], text)  # noqa: E731
    return {
        root / "solutions" / f"{number}_{stem}.md": fill(_LESSON),
        root / "utils" / "checks" / f"{stem}.py": fill(_CHECKS),
        root / "tests" / f"test_{stem}.py": fill(_TEST),
    }


_LESSON = '''\
---
jupyter:
  jupytext:
    text_representation:
      extension: .md
      format_name: markdown
  kernelspec:
    display_name: Python 3
    language: python
    name: python3
---

# <<title>>

Open with a situation in which something is missing, and say what this lesson puts there. Here it is: a table of attention weights tells how much every token looks at every other, and nobody can read a hundred numbers at once. Often one key a row is enough.

**After this lesson** you can name the key that each query attends to most. **Time:** 10 minutes.

**Before you start**, two questions on earlier lessons. Answer first, then open.

<details><summary>What does a row of attention weights sum to?</summary>

To one: softmax makes every row a set of shares.

</details>

<details><summary>In a table of weights, who are the rows and who the columns?</summary>

Rows are the queries, the tokens that ask. Columns are the keys, the tokens that are looked at.

</details>

```python
import torch
from jaxtyping import Float, Int
from torch import Tensor

from utils import check, explore, hint, show, solution
```

## One key a row

Concrete numbers come first. Three tokens, and what each of them gives to the three:

```python
tokens = ["the", "cat", "sat"]
weights = torch.tensor([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3]])
show.weights(weights, tokens, title="cat is looked at most by itself and by sat")
```

**Predict.** A guess before the cell costs nothing and makes the answer stick.

```python jupyter={"source_hidden": true}
explore.predict(
    "Counted from 0, at which position is the key that sat attends to most?", answer=1, explain="The last row is 0.1, 0.6, 0.3.",
)
```

<<gap>>

```python tags=["nbval-check-output"]
print(<<exercise>>(weights))
```

**Why it matters.** One line says what the answer is good for, before the next idea comes.

## Recap

- **The strongest key** of a query stands where its row is largest.

```python jupyter={"source_hidden": true}
explore.quiz(
    "weights has shape [6, 6]. What is the shape of <<exercise>>(weights)?",
    {
        "[6]": "One position for each of the six queries.",
        "[6, 6]": "That is the table itself, which has a number for every pair.",
        "[]": "A single number would be the answer for the whole table.",
    },
    answer="[6]",
)
```

**Next:** say in a line what the lesson after this one adds.
'''

_CHECKS = '''\
"""Exercises of lesson <<number>>."""

<<checks>>
'''

_TEST = '''\
"""Lesson <<number>>: right answers, written differently, and the claims of its prose."""

import torch

from solutions import <<stem>> as lesson

<<right>>

WEIGHTS = torch.tensor([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3]])


def test_the_picture_and_the_prediction():
    assert torch.allclose(WEIGHTS.sum(dim=-1), torch.ones(3))
    assert lesson.<<exercise>>(WEIGHTS).tolist() == [0, 1, 1]


def test_the_quiz():
    assert lesson.<<exercise>>(torch.rand(6, 6)).shape == (6,)
'''
