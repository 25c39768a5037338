"""Operations across a named axis: the functions, their primitives, rules and lowering."""
