"""How often healthy text is taken for a chant: ``python tests/benchmarks/chant_noise.py RUNS...``.

Each result of a tool in files of recorded runs is fed to `ChantDetector` as if a model had said it.
Results of tools are far more repetitive than what models say, so this is an upper bound.
"""

import sys
import time

from antiloop.loop_detection import ChantDetector
from antiloop.traces import read_runs


def main(paths):
    """Print each finding, and a sum."""
    detector = ChantDetector()
    texts = characters = found = 0
    began = time.perf_counter()
    for path in paths:
        for run in read_runs(path):
            for step, result in enumerate(run.results):
                if result is None or not result.text:
                    continue
                texts, characters = texts + 1, characters + len(result.text)
                told = detector.check_replies([result.text])
                if told is not None:
                    found += 1
                    print(f"{run.run_id} step {step}: {told.message}")
    seconds = time.perf_counter() - began
    print(f"{found} of {texts:,} texts, {characters:,} characters, {seconds:.0f} seconds")


if __name__ == "__main__":
    main(sys.argv[1:] or sys.exit(__doc__))
