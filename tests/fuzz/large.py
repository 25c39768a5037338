"""Single calls on large arrays, whose code small arrays never reach, against JAX.

From some size on, sums have parts, and blocks of memory are used again. A program here is one row of the operations' table on arrays of thousands of
elements: as it is, under `jit`, or differentiated.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from tests.fuzz import operations
from tests.fuzz.compare import namespace
from tests.fuzz.generate import CLASSES, FLOATS, FOCUS, INTEGERS, Program, Unusable, Writer
from tests.fuzz.session import Session, difference

SHAPES = [(3000,), (9000,), (70_000,), (262_144,), (520, 513), (150, 150), (40, 50, 60), (3, 100_000),
          (100_000, 3), (1, 70_000), (8, 8, 8, 64)]  # fmt: skip
FACTORS = [(300,), (150, 150), (64, 64), (40, 150), (300, 3), (4, 8, 64)]  # operands of products
SQUARES = [(20, 20), (150, 150)]
TABLES = ("elementwise", "reductions", "shapes", "indexing", "sorting", "products", "special")
# Rows whose results have many more elements than their operands, or that take minutes.
QUADRATIC = re.compile(r"outer|kron|vander|tri|eye|identity|meshgrid|diag|convolve|correlate|cov|corrcoef"
                       r"|compare_all|hyp1f1|one_hot|polymul|toeplitz|block|ix_|pinv|cond\(")  # fmt: skip
SPECIAL = "[np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5]"


class LargeWriter(Writer):
    """Writes rows with large operands, each a new input."""

    shapes = SHAPES

    def row(self) -> str:
        """A row of the tables, filled."""
        table = self.random.choice([FOCUS] if FOCUS in TABLES else TABLES)
        self.shapes = FACTORS if table == "products" else SHAPES
        rows = operations.TABLES[table].strip().splitlines()
        text = self.fill(self.random.choice([row for row in rows if row]))
        if QUADRATIC.search(text) or not self.inputs:
            raise Unusable
        return text

    def operand(self, letter: str, conditions: str, first: Any) -> str:
        if "~" in conditions and self.random.random() < 0.25:
            return self.literal(CLASSES[letter])
        shapes = self.shapes
        if first is not None and ("=" in conditions or "~" in conditions):
            shapes = [first.shape] * 3 + [(), first.shape[-1:]] * ("~" in conditions)
        elif "0" in conditions or "s" in conditions:
            shapes = [()] if "0" in conditions else SQUARES
        elif "m" in conditions or "v" in conditions:
            shapes = [s for s in shapes if (len(s) == 1) == ("v" in conditions)]
        alike = first is not None and ("=" in conditions or "'" in conditions)
        name = f"x{len(self.inputs)}"
        dtype = first.dtype.name if alike else self.dtype(letter)
        line = f"{name} = {self.numbers(dtype, self.random.choice(shapes))}"
        if not self.execute(name, line, True):
            raise Unusable
        self.inputs.append(line)
        return name

    def dtype(self, letter: str) -> str:
        """A dtype of the class. Floats of 16 bits have code of their own."""
        kind = self.random.choice(CLASSES[letter])
        return self.random.choice({"f": [*FLOATS[:3], "float16", "bfloat16"], "c": ["complex64"], "b": ["bool"],
                                   "i": [d for d in INTEGERS if d[0] == "i"],
                                   "u": [d for d in INTEGERS if d[0] == "u"]}[kind])

    def numbers(self, dtype: str, shape: tuple[int, ...]) -> str:
        """The text of an array with random elements, small, large or special."""
        draw = f"np.random.RandomState({self.random.randrange(1000)})"
        if dtype == "bool":
            return f"jnp.array({draw}.uniform(size={shape}) < 0.5)"
        if "int" in dtype:
            low, high = self.random.choice([(0, 5), (0, 120)] + [(-5, 6), (-128, 127)] * (dtype[0] == "i"))
            return f"jnp.array({draw}.randint({low}, {high}, {shape}), '{dtype}')"
        scale = self.random.choice([1.0, 1.0, 10.0, 1e4 if dtype == "float16" else 1e6])
        if self.random.random() < 0.3:
            draw = f"{scale} * {draw}.choice({SPECIAL}, {shape})"
        else:
            draw = f"{scale} * {draw}.normal(size={shape})"
        return f"jnp.array({draw}{' * (1 + 1j)' * (dtype == 'complex64')}, '{dtype}')"


def check_large(session: Session, seed: str) -> None:
    """Write the program of a seed, and compare what both libraries make of it."""
    values = namespace("minijax")

    def execute(name: str, line: str, top: bool) -> bool:
        exec(line, values)
        return True

    with session.limited():
        writer = LargeWriter(seed, values, execute)
        row = writer.row()
        names = [f"x{i}" for i in range(len(writer.inputs))]
        floats = tuple(i for i, name in enumerate(names) if values[name].dtype.name.startswith(("float", "bfloat")))
        ways = ["f", "f", "f", "jax.jit(f)"]
        ways += [f"jax.grad(lambda *args: total(f(*args)), {floats})"] * bool(floats)
        tail = [f"result = {writer.random.choice(ways)}({', '.join(names)})"]
        program = Program(seed, writer.inputs, [f"y = {row}"], "y", tail)
        session.counts["programs"] += 1
        session.ask_jax(program, program.text, partial(difference, x64=False))
