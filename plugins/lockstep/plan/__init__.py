"""A layout as a picture: nodes, ranks, layers, memory by term, and what crosses the network."""
