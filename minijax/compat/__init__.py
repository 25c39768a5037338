"""JAX's spellings that carry no idea: aliases, deprecated forms, ignored arguments."""
