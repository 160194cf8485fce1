"""One table of values files and their verdicts, by which Helm and the checks are both judged."""
