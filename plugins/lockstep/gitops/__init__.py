"""Look at a tree of Argo CD objects without Argo CD: what its ApplicationSets yield, and what is wrong with it."""
