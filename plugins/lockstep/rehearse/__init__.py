"""Rehearse a rendered group on this machine: its pods as processes, with the real launch scripts.

From the outside in: ``launcher`` (state folder, namespaces, nothing left behind) starts ``session``
(the rehearsal itself), which lets ``controller`` make the pods that ``manifest`` found, each run by a
``kubelet`` on a ``network``. Everything that happens is an event of the ``timeline``.
"""
