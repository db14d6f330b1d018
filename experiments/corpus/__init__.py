"""The corpora of the experiments: query sets, labels, and the builders of what is generated."""
