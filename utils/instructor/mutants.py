"""A learner's mistakes at scale: each reference answer is changed in one place, and its check must notice.

A mutant is the answer's source with one change that a hand could make: another operator, another axis, a dropped line, swapped
arguments. What the check says of it is counted: a misconception by name, an explanation, or only a difference in numbers. A mutant
that passes must be equal to the answer also where the check did not look; where it is not, the check has a hole.

Each mutant runs in a process of its own kind: one worker for all, thrown away when a mutant never ends.
"""

from __future__ import annotations

import __future__
import ast
import contextlib
import copy
import difflib
import io
import linecache
import multiprocessing
import os
import re
import time
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Iterator, Sequence
from unittest.mock import MagicMock

from utils import lessons
from utils.exercise import Case, Exercise, all_exercises, find

TABLE = lessons.ROOT / "docs" / "mutants.md"
SECONDS = 5.0  # a mutant may take this long, and twenty times what the answer itself takes
SEEDS = range(2, 7)  # with which a mutant that passes is compared once more; the check itself draws from 0 and 1
MEMORY = 4 << 30  # bytes that the worker may add, so that an endless list stops before the machine does

NAMED, EXPLAINED, STOPPED, PLAIN, ENDLESS, EQUAL, WRONG = "named", "explained", "stopped", "plain", "endless", "equal", "wrong"
OUTCOMES = (WRONG, PLAIN, EQUAL, EXPLAINED, STOPPED, NAMED, ENDLESS)


@dataclass(frozen=True)
class Mutant:
    """An answer with one change: what kind, and the line that differs."""

    kind: str
    source: str
    change: str


@dataclass
class Tally:
    """What the check of one exercise said of the mutants of its answer."""

    exercise: str
    lesson: str
    outcomes: list[tuple[Mutant, str, str]] = field(default_factory=list)  # mutant, outcome, message

    def count(self, *outcomes: str) -> int:
        return sum(outcome in outcomes for _, outcome, _ in self.outcomes)


# --- mutants of a source ----------------------------------------------------------------------------

_OPERATORS = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.Add), ast.Div: (ast.Mult,), ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,), ast.MatMult: (ast.Mult,),
}
_COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}
_DUALS = [
    ("sum", "mean"), ("max", "min"), ("amax", "amin"), ("argmax", "argmin"), ("sin", "cos"), ("ones", "zeros"), ("tril", "triu"),
    ("cat", "stack"), ("softmax", "log_softmax"), ("rand", "randn"), ("var", "std"), ("sqrt", "square"), ("values", "indices"),
    ("transpose", "view"), ("masked_fill", "masked_fill_"), ("exp", "log1p"), ("view", "reshape"), ("mT", "T"), ("encode", "decode"),
]
_ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)


def mutants(source: str) -> list[Mutant]:
    """Every mutant of a definition or of a few statements, each once, in the order of the source."""
    tree = ast.parse(source)
    plain = ast.unparse(tree)
    made: dict[str, Mutant] = {}
    nodes = list(_reachable(tree))
    for place, (node, parent) in enumerate(nodes):
        for kind, change in _changes(node, parent, tree):
            twin = copy.deepcopy(tree)
            counterpart, holder = list(_reachable(twin))[place]
            change(counterpart, holder)
            try:
                text = ast.unparse(ast.fix_missing_locations(twin))
                compile(text, "<mutant>", "exec")
            except (SyntaxError, ValueError):
                continue
            if text != plain and text not in made:
                made[text] = Mutant(kind, text, _difference(plain, text))
    return list(made.values())


def _difference(before: str, after: str) -> str:
    """The changed lines, as `old → new`."""
    lines = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[:2] in ("- ", "+ ")]
    old, new = ([line[2:].strip() for line in lines if line[0] == sign] for sign in "-+")
    return f"{' / '.join(old)} → {' / '.join(new) or '(dropped)'}"


def _reachable(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Nodes with their parents, without annotations, docstrings, decorators and the words of an error."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "bases", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, (ast.expr_context, ast.operator, ast.cmpop, ast.unaryop, ast.boolop)):
                continue
            yield child, tree
            if not isinstance(child, (ast.Raise, ast.JoinedStr)) and not _is_docstring(child):
                yield from _reachable(child)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _changes(node: ast.AST, parent: ast.AST, tree: ast.AST) -> Iterator[tuple[str, Callable]]:
    """What can be changed at a node: the kind, and a function of the same node and parent in a copy of the tree."""
    if isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not _is_docstring(node):
        yield "dropped line", _drop_statement
    for kind, new in _replacements(node, parent, tree):
        yield kind, lambda twin, holder, new=new: _put(holder, twin, copy.deepcopy(new))
    if isinstance(node, ast.Call):
        for i in range(len(node.keywords)):
            yield "dropped keyword", lambda twin, holder, i=i: twin.keywords.pop(i)
        for i in range(len(node.args) - 1):
            yield "swapped arguments", lambda twin, holder, i=i: _swap(twin.args, i)
    if isinstance(node, (ast.Tuple, ast.List)) and isinstance(node.ctx, ast.Load):
        for i in range(len(node.elts) - 1):
            yield "swapped items", lambda twin, holder, i=i: _swap(twin.elts, i)
    if isinstance(node, ast.Slice):
        for part in ("lower", "upper", "step"):
            if getattr(node, part) is not None:
                yield "dropped bound", lambda twin, holder, part=part: setattr(twin, part, None)
    if isinstance(node, ast.AugAssign):
        for other in _OPERATORS.get(type(node.op), ()):
            yield "operator", lambda twin, holder, other=other: setattr(twin, "op", other())
    if isinstance(node, ast.arguments) and len(node.args) > 2 and node.args[0].arg != "self":
        yield "swapped arguments", lambda twin, holder: _swap(twin.args, 0)


def _replacements(node: ast.AST, parent: ast.AST, tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Other nodes for the place of this one."""
    if isinstance(node, ast.BinOp):
        for other in _OPERATORS.get(type(node.op), ()):
            yield "operator", ast.BinOp(node.left, other(), node.right)
        if isinstance(node.op, _ORDERED):
            yield "swapped operands", ast.BinOp(node.right, node.op, node.left)
        yield "dropped operand", node.left
        if isinstance(node.op, (ast.Add, ast.Mult)):
            yield "dropped operand", node.right
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            for value in _near(-node.operand.value):
                yield "constant", ast.Constant(value)
        else:
            yield "operator", node.operand
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in _COMPARISONS.get(type(node.ops[0]), ()):
            yield "comparison", ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield "operator", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for value in node.values:
            yield "dropped operand", value
    elif isinstance(node, ast.IfExp):
        yield "branch", node.body
        yield "branch", node.orelse
        yield "branch", ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Constant) and not isinstance(parent, ast.UnaryOp):
        for value in _near(node.value, tree):
            yield "constant", ast.Constant(value)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and not (isinstance(node.func.value, ast.Name) and node.func.value.id in ("torch", "nn")):
            yield "dropped call", node.func.value
        if len(node.args) == 1 or isinstance(node.func, ast.Attribute) and node.args and not isinstance(node.args[0], ast.Starred):
            if not isinstance(node.args[0], (ast.GeneratorExp, ast.Starred)):
                yield "dropped call", node.args[0]
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        for pair in _DUALS:
            if node.attr in pair:
                yield "operation", ast.Attribute(node.value, pair[1 - pair.index(node.attr)], ast.Load())
        if not isinstance(parent, ast.Call) and not isinstance(node.value, ast.Name):
            yield "dropped attribute", node.value
        elif node.attr in ("T", "mT"):
            yield "dropped attribute", node.value
        kept = _kept(tree)
        if isinstance(node.value, ast.Name) and node.value.id == "self" and node.attr in kept:
            for name in kept:
                if name != node.attr and kept[name] == kept[node.attr]:
                    yield "swapped names", ast.Attribute(node.value, name, ast.Load())
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield "dropped index", node.value
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        for name in _alike(node, tree):
            yield "swapped names", ast.Name(name, ast.Load())


def _near(value: Any, tree: ast.AST | None = None) -> list:
    """Constants that could stand there by mistake: a neighbour, another sign, another word of the same answer."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return sorted({value + 1, value - 1, -value} - {value})
    if isinstance(value, float):
        return [value * 2, value / 2, value + 1]
    if isinstance(value, str) and tree is not None:
        words = {n.value for n, _ in _reachable(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        return sorted(w for w in words - {value} if len(w) < 20)
    return []


def _kept(tree: ast.AST) -> dict[str, str]:
    """What a class stores on self, with its kind: the function that made it."""
    kept = {}
    for node, _ in _reachable(tree):
        if isinstance(node, ast.Assign):
            made = node.value.func if isinstance(node.value, ast.Call) else node.value
            for target in [t for target in node.targets for t in ast.walk(target)]:
                if isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store) and isinstance(target.value, ast.Name):
                    kept[target.attr] = ast.unparse(made)
    return kept


def _alike(node: ast.Name, tree: ast.AST) -> list[str]:
    """Names that could stand there by mistake: arguments of the same kind, what was made beside it, and what was made last."""
    scope = next((n for n, _ in _reachable(tree) if isinstance(n, ast.FunctionDef) and n.lineno <= node.lineno <= n.end_lineno), tree)
    groups: list[tuple[int, list[str]]] = []  # by line: the names that are made there, of one kind
    if isinstance(scope, ast.FunctionDef):
        kinds: dict[str, list[str]] = {}
        for a in scope.args.args:
            kinds.setdefault(ast.unparse(a.annotation).split("[")[0] if a.annotation else "", []).append(a.arg)
        groups += [(0, [name for name in names if name != "self"]) for names in kinds.values()]
    for made, _ in _reachable(scope):
        if isinstance(made, ast.Assign):
            groups.append((made.end_lineno, [name for target in made.targets for name in _stored(target)]))
        elif isinstance(made, ast.For):
            groups.append((made.target.lineno, _stored(made.target)))
        elif isinstance(made, (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)) and node in ast.walk(made):
            groups += [(0, _stored(part.target)) for part in made.generators]
    groups = [(line, names) for line, names in sorted(groups, key=lambda group: group[0]) if names and line < node.lineno]
    if not any(node.id in names for _, names in groups):
        return []
    beside = [name for _, names in groups if node.id in names for name in names]
    last = [names[-1] for line, names in groups if line and node.id not in names][-1:]
    return [name for name in dict.fromkeys([*beside, *last]) if name != node.id]


def _stored(node: ast.AST) -> list[str]:
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _put(holder: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for name, value in ast.iter_fields(holder):
        if value is old:
            setattr(holder, name, new)
        elif isinstance(value, list):
            value[:] = [new if item is old else item for item in value]


def _swap(items: list, i: int) -> None:
    items[i], items[i + 1] = items[i + 1], items[i]


def _drop_statement(node: ast.AST, holder: ast.AST) -> None:
    for name, value in ast.iter_fields(holder):
        if isinstance(value, list) and node in value:
            value.remove(node)
            if not value and name == "body":
                value.append(ast.Pass())


# --- the answer and its mutants as things that run -----------------------------------------------------

@dataclass
class Answers:
    """Makes an exercise's answer, or a mutant of it, from source, among the names of its lesson."""

    exercise: Exercise
    names: dict[str, Any]
    source: str

    @classmethod
    def of(cls, exercise: Exercise) -> Answers:
        path = lessons.find(exercise.lesson, lessons.ROOT / "solutions")
        source = lessons.source_of(path, exercise.name)
        if exercise.kind != "value":
            names = dict(vars(lessons.load(path)))
            names.pop(exercise.name)
            return cls(exercise, names, source)
        names: dict[str, Any] = dict.fromkeys(("check", "show", "explore"), MagicMock())
        for cell in lessons.read(path).cells:
            if cell.kind == "code":
                exec("\n".join(line for line in cell.source.splitlines() if not line.startswith("from utils ")), names)
            if exercise.name in names:
                break
        for node in ast.parse(source).body:
            for name in lessons.bound_names(node):
                names.pop(name)
        return cls(exercise, names, source)

    def make(self, source: str) -> Any:
        """The answer that a source defines. Raises what Python raises where it defines none."""
        names, file = dict(self.names), f"<mutant of {self.exercise.name}>"
        linecache.cache[file] = (len(source), None, [line + "\n" for line in source.splitlines()], file)
        exec(compile(source, file, "exec", __future__.annotations.compiler_flag), names)
        return names[self.exercise.name]


@contextlib.contextmanager
def _heard(name: str) -> Iterator[list[str]]:
    """What one of the engine's functions says during the block."""
    from utils import diagnose

    spoken, said = getattr(diagnose, name), []

    def say(*args: Any) -> str:
        said.append(spoken(*args))
        return said[-1]

    setattr(diagnose, name, say)
    try:
        yield said
    finally:
        setattr(diagnose, name, spoken)


def judge(answers: Answers, source: str) -> tuple[str, str]:
    """(outcome, message) for one mutant; ("", why) where it does not even define an answer."""
    from utils import diagnose

    try:
        answer = answers.make(source)
    except Exception as error:
        return "", f"{type(error).__name__}: {error}"
    with _heard("_difference") as plain, _heard("_relation") as relations:
        report = diagnose.diagnose(answers.exercise, answer)
    if report.status == "passed":
        gap = unequal(answers, answer)
        return (WRONG, gap) if gap else (EQUAL, "")
    if report.misconception:
        return NAMED, report.message
    if plain:
        return (EXPLAINED if any(relations) else PLAIN), report.message
    return (STOPPED if " stopped with " in report.message or " stopped on line " in report.message else EXPLAINED), report.message


# --- equal, also where the check did not look -------------------------------------------------------------

def unequal(answers: Answers, answer: Any) -> str:
    """Where an answer that passed differs from the reference, or "": other seeds, other sizes, louder and softer numbers."""
    from utils.diagnose import agree
    from utils.observe import expected, observe, sealed

    exercise = answers.exercise
    if exercise.kind == "value":
        return ""
    reference = answers.make(answers.source)
    with sealed():
        for where, case in beyond(exercise):
            try:
                right = observe(exercise, reference, case)
                if right.failure and right.failure.type not in ("ValueError", "AssertionError"):
                    continue
                if not agree(right, expected(exercise, case), exercise.atol):
                    continue  # not a question that the exercise asks
                mine = observe(exercise, answer, case)
                if not agree(mine, right, 10 * exercise.atol):
                    return where
            except Exception:
                continue
    return ""


def beyond(exercise: Exercise) -> Iterator[tuple[str, Case]]:
    """Cases that the check does not use: its own with other numbers, and these varied one thing at a time."""
    for seed in SEEDS if exercise.drawn else ():
        for i, case in enumerate(exercise.draw(seed)):
            yield f"seed {seed}, case {i}", case
    for i, case in enumerate(exercise.draw(SEEDS[-1] + 1)):
        for what, varied in _varied(case):
            yield f"case {i} with {what}", varied


def _varied(case: Case) -> Iterator[tuple[str, Case]]:
    import torch

    floats = [i for i, a in enumerate(case.args) if isinstance(a, torch.Tensor) and a.is_floating_point()]
    change = lambda places, turn: replace(case, args=tuple(turn(a) if i in places else a for i, a in enumerate(case.args)))  # noqa: E731
    if floats:
        yield "numbers ten times as large", change(floats, lambda t: t * 10)
        yield "numbers a hundredth as large", change(floats, lambda t: t * 0.01)
        yield "other memory layout", change(floats, lambda t: t.mT.contiguous().mT if t.dim() > 1 else t)
        for i in floats:
            yield f"argument {i} negated", change([i], torch.neg)
    for i, a in enumerate(case.args):
        if type(a) is int:
            for other in sorted({a + 1, a - 1, a + 5, 1, 2} - {a}):
                yield f"argument {i} = {other}", change([i], lambda n: other)
        elif isinstance(a, (str, list)) and a:
            yield f"argument {i} reversed", change([i], lambda s: s[::-1])
            yield f"argument {i} twice", change([i], lambda s: s + s)
            yield f"argument {i} cut", change([i], lambda s: s[:1])
    if isinstance(case.init, tuple):
        for i, a in enumerate(case.init):
            if type(a) is int:
                for step in (1, a):
                    yield f"built with {a + step} for {a}", replace(case, init=tuple(n + step if j == i else n for j, n in enumerate(case.init)))
    if case.init:
        yield "the other mode", replace(case, train=not case.train)
        yield "the parameters as made" if case.fill else "parameters filled", replace(case, fill=not case.fill)


# --- the worker ---------------------------------------------------------------------------------------

def _serve(pipe: Any) -> None:
    """The worker: takes (exercise, source), gives (outcome, message), until its pipe closes."""
    os.environ["COURSE_GPT2"] = "bundled"
    with contextlib.suppress(ImportError, ValueError):
        import resource

        used = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE") if os.path.exists("/proc/self/statm") else 8 << 30
        resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 30) + MEMORY, resource.RLIM_INFINITY))
    import torch

    torch.set_num_threads(1)
    made: dict[str, Answers] = {}
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt), contextlib.redirect_stdout(io.StringIO()):
        while True:
            name, source = pipe.recv()
            if name not in made:
                made[name] = Answers.of(find(name))
            pipe.send(judge(made[name], source if source is not None else made[name].source))


class Worker:
    """A process that judges mutants, one at a time; it is replaced after one that never ends."""

    def __init__(self) -> None:
        self.process = self.pipe = None

    def judge(self, name: str, source: str | None, seconds: float) -> tuple[str, str]:
        if self.process is None or not self.process.is_alive():
            self._start()
            self.pipe.send((name, None))  # imports and first use do not count as the mutant's time
            self.pipe.recv()
        self.pipe.send((name, source))
        try:
            if self.pipe.poll(seconds):
                return self.pipe.recv()
        except EOFError:
            pass
        self.close()
        return ENDLESS, f"It had not ended after {seconds:.0f} seconds."

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def examine(names: Sequence[str] = (), told: Callable[[Tally], None] = lambda tally: None) -> list[Tally]:
    """The tallies of these exercises, or of all; `told` hears of each as it is ready."""
    exercises = [find(name) for name in names] or list(all_exercises().values())
    tallies = []
    with Worker() as worker:
        for exercise in exercises:
            tally = Tally(exercise.name, exercise.lesson)
            source = lessons.source_of(lessons.find(exercise.lesson, lessons.ROOT / "solutions"), exercise.name)
            worker.judge(exercise.name, None, 120)  # makes the answer
            start = time.monotonic()
            outcome, message = worker.judge(exercise.name, ast.unparse(ast.parse(source)), 120)
            if outcome != EQUAL:
                raise ValueError(f"{exercise.name}: the answer in solutions/ does not pass its own check: {message}")
            seconds = SECONDS + 20 * (time.monotonic() - start)
            for mutant in mutants(source):
                outcome, message = worker.judge(exercise.name, mutant.source, seconds)
                if outcome:
                    tally.outcomes.append((mutant, outcome, message))
            tallies.append(tally)
            told(tally)
    return tallies


# --- the table ----------------------------------------------------------------------------------------

COLUMNS = ("mutants", "rejected", "named", "explained", "stopped", "plain", "endless", "equal", "passed wrongly")
ROW = re.compile(r"^\| `?(\w[\w ]*)`? \|" + r" (\d+) \|" * len(COLUMNS) + r" (\d+) % \|$", re.M)


def numbers(tally: Tally) -> tuple[int, ...]:
    """One row of the table."""
    told = [tally.count(o) for o in (NAMED, EXPLAINED, STOPPED, PLAIN)]
    return (len(tally.outcomes), sum(told), *told, tally.count(ENDLESS), tally.count(EQUAL), tally.count(WRONG))


def share(row: Sequence[int]) -> int:
    """Per cent of the rejected that are named, explained, or stopped on a line that the message shows."""
    return round(100 * sum(row[2:5]) / row[1]) if row[1] else 100


def share_of_ran(row: Sequence[int]) -> int:
    """Per cent named or explained of the rejected that ran to a wrong result, where torch's own errors are of no help."""
    ran = row[2] + row[3] + row[5]
    return round(100 * (row[2] + row[3]) / ran) if ran else 100


def table(tallies: Sequence[Tally]) -> str:
    """The rows as Markdown, with a sum."""
    rows = [(f"`{t.exercise}`", numbers(t)) for t in tallies]
    rows.append(("all", tuple(map(sum, zip(*(row for _, row in rows))))))
    lines = [f"| exercise | {' | '.join(COLUMNS)} | told why |", "|---|" + "---:|" * (len(COLUMNS) + 1)]
    lines += [f"| {name} | {' | '.join(map(str, row))} | {share(row)} % |" for name, row in rows]
    return "\n".join(lines)


def stored(path=None) -> dict[str, tuple[int, ...]]:
    """The rows of the table in the docs, by exercise, and "all"."""
    found = ROW.findall((path or TABLE).read_text(encoding="utf-8"))
    return {name: tuple(map(int, row[:-1])) for name, *row in found}


def write(tallies: Sequence[Tally], path=None) -> None:
    """Put the table into the docs."""
    whole = tuple(map(sum, zip(*map(numbers, tallies))))
    (path or TABLE).write_text(PAGE.format(table=table(tallies), ran=share_of_ran(whole)), encoding="utf-8", newline="\n")


PAGE = """# A learner's mistakes, at scale

`coginst mutants --write` made this page. It changes each reference answer in one place at a time (an operator, a comparison, an axis or another constant, a dropped line, call, index or keyword, swapped arguments or names, one function in place of a related one) and hands every such mutant to the exercise's check.

- **rejected**: the check did not pass it, and said one of four things. **named**: a misconception, in its own words. **explained**: a property that is broken, a complaint about shape, type, side effect or gradient, something that has no part in the result, or one factor or offset by which all numbers are off. **stopped**: Python or torch raised an error, and the message shows the line and says what it means. **plain**: only where the numbers differ.
- **endless**: it never ended, and was stopped from outside.
- **equal**: it passed, and does what the answer does also beyond the check: with five more sets of numbers, with larger, smaller and negated ones, other sizes, another memory layout and the other mode.
- **passed wrongly**: it passed, and differs from the answer on some of these. There must be none.
- **told why**: the share of the rejected that are named, explained or stopped. Over the course, and without those that Python or torch stopped anyway, {ran} % are named or explained.

{table}
"""
