"""Small models written with minijax, which the tour and the chapters share."""
