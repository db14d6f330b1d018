"""Ask the clean corpus: what a query gives before anyone attacks. Step 1 of run_full_experiment.py, alone."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments.run_full_experiment import step_1
from experiments.steps import SHARED, example_bench, example_truth

if __name__ == "__main__":
    truth = example_truth()
    with example_bench(poisoned=False, root=SHARED) as bench:
        step_1(bench, 5, truth)
