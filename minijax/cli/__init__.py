"""The command line: a guided tour, the jaxpr of any function, and a doctor."""
