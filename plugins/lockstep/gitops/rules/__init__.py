"""Rules for a tree of Argo CD objects: each yields findings with the file they belong to."""
