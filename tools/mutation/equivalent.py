"""Mutants that compute the same as the original, each with the reason why no test can tell."""

EQUIVALENT: dict[str, str] = {
}
