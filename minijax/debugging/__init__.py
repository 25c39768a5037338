"""Chapter 15: effects, callbacks, and the means to look into a program while it runs."""
