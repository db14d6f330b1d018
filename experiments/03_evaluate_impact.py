"""Measure how much poison the questions show, undefended and defended. Step 3 of run_full_experiment.py, alone."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments.run_full_experiment import step_3
from experiments.steps import SHARED, example_bench, example_truth

if __name__ == "__main__":
    truth = example_truth()
    with example_bench(poisoned=True, root=SHARED) as bench:
        step_3(bench, 5, truth)
