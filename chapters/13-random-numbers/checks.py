"""The checks of chapter 13's exercises."""

from __future__ import annotations

import numpy as np
from learning.checking import compare, exercise, expect

from minijax import grad, jit, random, vmap
from minijax.random.threefry import integer_rounds

F = np.float32


@exercise("13.1", "Back to the counter", ["threefry_inverse"], hints=[
    "Undo each step, the last one first.",
    "The last step of a round is b = rotate(b, r) ^ a. What is b before it, if you know a and b "
    "after it?",
    "Rotation by 32 - r undoes rotation by r, and x ^ a ^ a is x.",
    "All arithmetic is modulo 2**32; in Python, (a - b) % 2**32 is never negative.",
])
def inverse(threefry_inverse):
    cases = [((0, 0), (0, 0)), ((0, 42), (0, 1)), ((7, 2**32 - 1), (2**31, 5)),
             ((123456789, 987654321), (2**32 - 1, 2**32 - 1))]
    compare(lambda key, block: tuple(map(int, threefry_inverse(key, block))),
            lambda key, block: next(c for k, c in cases if integer_rounds(*k, *c) == block),
            [(k, integer_rounds(*k, *c)) for k, c in cases], "key, block =")


@exercise("13.2", "One number of a long stream", ["uniform_at"], hints=[
    "The counter is the number i, as two words: (i >> 32, i % 2**32).",
    "bits >> 9 keeps the upper 23 bits.",
    "The mantissa m stands for the number m / 2**23.",
])
def far(uniform_at):
    key = (3, 14)
    stream = np.asarray(random.uniform(random.wrap_key_data(np.array(key, np.uint32)), (20,)))
    compare(uniform_at, lambda k, i: float(stream[i]), [(key, i) for i in (0, 1, 19)], "key, i =")

    def want(key, i):
        a, b = integer_rounds(*key, i >> 32, i % 2**32)
        bits = np.uint32(a ^ b)
        return float((bits >> np.uint32(9) | np.uint32(0x3F800000)).view(F)) - 1.0

    compare(uniform_at, want, [(key, 2**32), (key, 10**10), (key, 2**64 - 1)], "key, i =")


@exercise("13.3", "By the inverse", ["kumaraswamy"], hints=[
    "Solve u = 1 - (1 - x**a)**b for x.",
    "(1 - u)**(1/b) = 1 - x**a.",
    "Nothing is needed for the derivative, if a and b are used in jnp's arithmetic only.",
])
def distribution(kumaraswamy):
    key, n = random.key(1), 4000
    below = lambda x, a, b: 1 - (1 - x ** a) ** b
    for a, b in ((1.0, 1.0), (2.0, 3.0), (0.5, 1.5)):
        x = np.sort(np.asarray(kumaraswamy(key, a, b, (n,)), np.float64))
        expect(x.shape == (n,), f"with a, b = {a}, {b} and shape ({n},) the result has shape "
                                f"{x.shape}")
        expect(x.min() >= 0 and x.max() <= 1, f"with a, b = {a}, {b} there are samples outside of "
                                              f"[0, 1]: from {x.min()} to {x.max()}")
        compare(lambda q, a, b, x=x: round(float(np.mean(x <= q)), 1),
                lambda q, a, b: round(below(q, a, b) + 1e-9, 1),
                [(q, a, b) for q in QUANTILES[a]], "the share of samples below q, for q, a, b =")
    draw = lambda a, b: kumaraswamy(random.key(2), a, b, ())
    x = float(draw(2.0, 3.0))
    density = 2 * 3 * x * (1 - x**2) ** 2
    by_a = float(-3 * (1 - x**2) ** 2 * x**2 * np.log(x) / density)
    by_b = float((1 - x**2) ** 3 * np.log(1 - x**2) / density)
    compare(lambda a, b: [float(d) for d in grad(draw, (0, 1))(a, b)],
            lambda a, b: [by_a, by_b], [(2.0, 3.0)],
            "the derivatives of a sample by a and b, at a, b =")
    many = random.split(key, 5)
    compare(lambda a, b: np.asarray(vmap(lambda k: kumaraswamy(k, a, b, (2,)))(many)),
            lambda a, b: np.stack([np.asarray(kumaraswamy(k, a, b, (2,))) for k in many]),
            [(2.0, 3.0)], "under vmap over keys, a, b =")


# Where the distribution functions are .2 and .6, away from where rounding to one digit is a gamble.
QUANTILES = {1.0: (0.2, 0.6), 2.0: (0.2675, 0.5132), 0.5: (0.0191, 0.2090)}


@exercise("13.4", "A random order", ["_shuffle"], hints=[
    "If each element gets a random word, and the elements are sorted by their words, then no "
    "order is likelier than another.",
    "random_bits(key, 32, x.shape) makes a word for each element, so that each line is sorted by "
    "words of its own.",
    "sort_key_val returns the sorted words, and the elements in the same order.",
], hole="random.choices._shuffle")
def order(_shuffle):
    keys = random.split(random.key(3), 600)
    orders = np.asarray(vmap(lambda k: random.permutation(k, 3))(keys))
    compare(lambda n: sorted(orders[n].tolist()), lambda n: [0, 1, 2], [(n,) for n in range(20)],
            "the sorted elements of permutation(key, 3), for key number")
    _, counts = np.unique(orders, axis=0, return_counts=True)
    expect(len(counts) == 6 and counts.min() > 50 and counts.max() < 160,
           f"of 600 permutations of three, each of the six orders should come about 100 times; "
           f"the counts are {counts.tolist()}")
    x = np.arange(40.0, dtype=F).reshape(4, 10)
    for axis in (0, 1):
        out = np.asarray(random.permutation(random.key(4), x, axis, independent=True))
        compare(lambda a, out=out: np.sort(out, a), lambda a: np.sort(x, a), [(axis,)],
                "independent=True: the lines, sorted again, for axis")
        places = np.argsort(out, axis)
        alike = [np.array_equal(np.take(places, i, 1 - axis), np.take(places, 0, 1 - axis))
                 for i in range(1, x.shape[1 - axis])]
        expect(not all(alike), f"axis {axis}: all lines are in the same order")
    everywhere = lambda a: np.asarray(_shuffle(random.key(5), x, a))
    compare(lambda a: everywhere(a).shape, lambda a: x.shape, [(None,)], "the shape, with axis")
    compare(lambda a: np.sort(everywhere(a).ravel()), lambda a: x.ravel(), [(None,)],
            "all elements, sorted again, with axis")
    rows, columns = everywhere(None) // 10, everywhere(None) % 10
    expect((rows != rows[:, :1]).any() and (columns != columns[:1]).any(),
           "axis None: an element should also come to other rows and columns")
    same = jit(lambda k: random.permutation(k, 10))
    compare(lambda seed: np.asarray(same(random.key(seed))),
            lambda seed: np.asarray(random.permutation(random.key(seed), 10)), [(5,)],
            "under jit, the permutation of seed")


@exercise("13.5", "Keys that are used wrongly", ["augment"], hints=[
    "One key for all images makes all flips alike. Where could each image get a key of its own?",
    "random.fold_in(key, i) is a key for image i, whatever the number of images.",
    "An image needs two keys: split its own.",
    "vmap over the numbers jnp.arange(n) and the images.",
])
def repaired(augment):
    n, pixels = 400, np.arange(8.0, dtype=F)
    images = np.broadcast_to(pixels * np.ones((2, 1), F), (n, 2, 8))
    out = np.asarray(augment(random.key(6), images))
    expect(out.shape == images.shape, f"the result has shape {out.shape}, not {images.shape}")
    flips = out[:, 0, 0] > out[:, 0, -1]
    noise = out - np.where(flips[:, None, None], images[:, :, ::-1], images)
    expect(140 < flips.sum() < 260, f"of {n} images, {flips.sum()} are flipped: about half should "
                                    "be")
    expect(abs(noise).max() < 1, "an image is neither itself nor flipped, within the noise")
    expect(0.09 < noise.std() < 0.11, f"the noise has a standard deviation of {noise.std():.3f}, "
                                      "not 0.1")
    expect(not np.allclose(noise[0], noise[1]), "two images have the same noise")
    expect(noise.std(axis=0).min() > 0.05, "the noise of a pixel is the same in all images")
    flat = noise.reshape(n, -1)
    expect(not np.allclose(flat[:, 0], flat[:, 1]), "two pixels have the same noise")
    related = [abs(np.corrcoef(flips, flat[:, i])[0, 1]) for i in range(16)]
    expect(max(related) < 0.3, f"pixel {np.argmax(related)}: its noise tells whether the image was "
                               f"flipped (their correlation is {max(related):.2f})")
    compare(lambda k: np.asarray(augment(random.key(6), images[:k])), lambda k: out[:k], [(5,)],
            "the first images only: how many?")
    compare(lambda seed: np.asarray(jit(augment)(random.key(seed), images[:3])),
            lambda seed: out[:3], [(6,)], "under jit, seed")
