"""The checks of `core/`, and their messages: one module for each module there."""
