"""Tests of the simulated cluster's own parts; they need neither Go nor a cluster."""
