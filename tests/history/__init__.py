"""The same program gives the same result whatever ran before it in the process."""
