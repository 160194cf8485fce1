"""Check manifests that other hands or other charts wrote.

``read`` gives the objects of a file, ``workloads`` the pods that make a group, ``script`` and ``command`` the engine
that they start, ``group`` all of it together. ``start`` and ``serve`` hold what only manifests can have. ``adopt`` puts
a group into the values of the serving chart, so that the checks of a release judge it; ``words`` says their findings in
the words of the manifest.
"""
