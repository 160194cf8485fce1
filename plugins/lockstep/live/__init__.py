"""Compare objects with a cluster that kubectl reaches, reading only.

``kubectl`` runs it and ``cluster`` says what is there; ``apis``, ``nodes``, ``queues`` and ``pods`` hold objects
against that. Objects are those that the chart renders, or any manifests.
"""
