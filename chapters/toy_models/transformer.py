"""A transformer (Vaswani et al., 2017), which predicts the next letter at each place of a text.

The parameters are a pytree {"letters": f32[v,d], "layers": a list of dicts of matrices}, for an
alphabet of v letters and d numbers that describe a place. No parameter says where in the text a
place is, but each head of attention gives less weight to places farther back (Press et al., 2022).
"""

from __future__ import annotations

import numpy as np

import minijax as jax
import minijax.numpy as jnp

WIDTH = 64
LAYERS = 2
FADING = np.array([2, 1, 1 / 4, 1 / 16], np.float32)  # for each head, how quickly the past fades


def init(key, letters: int):
    """Weights so scaled that a signal keeps its size; what is added to it is small at first."""
    keys = iter(jax.random.split(key, 1 + 4 * LAYERS))
    lecun, small = jax.nn.initializers.lecun_normal(), jax.nn.initializers.normal(0.02)
    return {
        "letters": small(next(keys), (letters, WIDTH)),
        "layers": [
            {
                "ask": lecun(next(keys), (WIDTH, 3 * WIDTH)),
                "hear": small(next(keys), (WIDTH, WIDTH)),
                "think": lecun(next(keys), (WIDTH, 4 * WIDTH)),
                "conclude": small(next(keys), (4 * WIDTH, WIDTH)),
            }
            for _ in range(LAYERS)
        ],
    }


def scores(params, text):
    """For texts i32[n,t], at each place a score for each letter that may come next: [n,t,v]."""
    x = params["letters"][text]
    for layer in params["layers"]:
        x = x + look_back(layer, jax.nn.standardize(x))
        x = x + jax.nn.gelu(jax.nn.standardize(x) @ layer["think"]) @ layer["conclude"]
    return jax.nn.standardize(x) @ params["letters"].T


def look_back(layer, x):
    """Attention: the values of earlier places, weighted by how well their keys fit the query."""
    heads = (*x.shape[:-1], len(FADING), -1)
    query, key, value = (part.reshape(heads) for part in jnp.split(x @ layer["ask"], 3, axis=-1))
    places = jnp.arange(x.shape[-2])
    distance = places[:, None] - places
    heard = jax.nn.dot_product_attention(
        query, key, value, bias=-FADING[:, None, None] * distance, is_causal=True)
    return heard.reshape(x.shape) @ layer["hear"]


def loss(params, text):
    """The mean cross-entropy, in nats a letter, of each letter after those before it."""
    log_probs = jax.nn.log_softmax(scores(params, text[:, :-1]))
    return -jnp.mean(jnp.take_along_axis(log_probs, text[:, 1:, None], axis=-1))
