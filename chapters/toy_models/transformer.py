"""A transformer (Vaswani et al., 2017): at each place of a text, what may come next.

Parameters are a pytree: {"letters": f32[v,d], "places": f32[t,d], "layers": a list of dicts}, for v
letters, texts of t letters and d numbers to describe each.
"""

from __future__ import annotations

import minijax as jax
import minijax.numpy as jnp

WIDTH = 64
HEADS = 4
LAYERS = 2


def init(key, letters: int, length: int):
    """Weights so scaled that a signal keeps its size; descriptions that are small."""
    keys = iter(jax.random.split(key, 2 + 4 * LAYERS))
    lecun, small = jax.nn.initializers.lecun_normal(), jax.nn.initializers.normal(0.02)
    return {
        "letters": small(next(keys), (letters, WIDTH)),
        "places": small(next(keys), (length, WIDTH)),
        "layers": [
            {
                "ask": lecun(next(keys), (WIDTH, 3 * WIDTH)),
                "answer": small(next(keys), (WIDTH, WIDTH)),
                "think": lecun(next(keys), (WIDTH, 4 * WIDTH)),
                "conclude": small(next(keys), (4 * WIDTH, WIDTH)),
            }
            for _ in range(LAYERS)
        ],
    }


def scores(params, text):
    """For texts i32[n,t], at each place a score for each letter that may come next: [n,t,v]."""
    x = params["letters"][text] + params["places"][: text.shape[-1]]
    for layer in params["layers"]:
        x = x + look_back(layer, jax.nn.standardize(x))
        x = x + jax.nn.gelu(jax.nn.standardize(x) @ layer["think"]) @ layer["conclude"]
    return jax.nn.standardize(x) @ params["letters"].T


def look_back(layer, x):
    """Attention: each place asks all before it, and hears most of those whose key fits."""
    heads = (*x.shape[:-1], HEADS, -1)
    query, key, value = (part.reshape(heads) for part in jnp.split(x @ layer["ask"], 3, axis=-1))
    heard = jax.nn.dot_product_attention(query, key, value, is_causal=True)
    return heard.reshape(x.shape) @ layer["answer"]


def loss(params, text):
    """The mean cross-entropy, in nats a letter, of each letter after those before it."""
    log_probs = jax.nn.log_softmax(scores(params, text[:, :-1]))
    return -jnp.mean(jnp.take_along_axis(log_probs, text[:, 1:, None], axis=-1))
