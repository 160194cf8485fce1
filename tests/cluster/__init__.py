"""The cluster suite: the chart against real controllers. The tier only chooses the cluster, by ``--cluster-type``."""
