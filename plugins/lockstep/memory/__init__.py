"""How much memory each GPU of a group needs, term by term, before one is asked for."""
