"""What telltale workers wrote down (see tests/worker/telltale_main.cc), read and added up."""
import collections
import os

from espalier import TESTING

TELLTALE = os.path.join(TESTING, "telltale-worker")


class Accounts:
    """Of all processes that wrote into a directory."""

    def __init__(self, directory):
        self.leaves = collections.defaultdict(list)   # (step, generation) -> [(leaf, rows)]
        self.commits = collections.defaultdict(dict)  # step -> {generation: processes}
        self.last = {}                                # process -> (step, generation)
        self.epochs = {}                              # step -> epoch
        for process in os.listdir(directory):
            with open(os.path.join(directory, process)) as f:
                for line in f:
                    if not line.endswith("\n"):
                        break  # a kill cut its write short, so it was not acted upon
                    kind, *numbers = line.split()
                    self.take(process, kind, [int(n) for n in numbers])

    def take(self, process, kind, numbers):
        generation, step = numbers[:2]
        if kind == "leaf":
            self.leaves[step, generation].append((numbers[3], numbers[4:]))
            self.epochs[step] = numbers[2]
        elif kind == "commit":
            self.commits[step].setdefault(generation, set()).add(process)
            self.last[process] = (step, generation)

    def check(self, test, leaves, rows):
        """Each leaf exactly once a committed step, each row exactly once an epoch."""
        test.assertEqual(sorted(self.commits), list(range(len(self.commits))))
        epochs = collections.defaultdict(list)
        for step, generations in self.commits.items():
            counts = max(generations)
            for older in set(generations) - {counts}:
                # Applied by one that died before it could pass it on: that is gone with it.
                for process in generations[older]:
                    test.assertEqual(self.last[process], (step, older))
            added = self.leaves[step, counts]
            test.assertEqual(sorted(leaf for leaf, _ in added), list(range(leaves)), step)
            for _, its_rows in added:
                epochs[self.epochs[step]] += its_rows
        for epoch, its_rows in epochs.items():
            test.assertEqual(sorted(its_rows), list(range(rows)), "epoch %d" % epoch)
        return len(epochs)

    def aborted(self):
        """Attempts at a step that came to nothing."""
        return sum(1 for step, generation in self.leaves
                   if generation not in self.commits.get(step, {}))


def share(directory, process):
    """How many leaves a process had in the last step but one that it wrote of; 0: none yet."""
    path = os.path.join(directory, str(process))
    if not os.path.exists(path):
        return 0
    with open(path, "rb") as f:
        f.seek(max(0, os.path.getsize(path) - 65536))
        lines = f.read().decode().splitlines()[1:-1]
    steps = [line.split()[2] for line in lines if line.startswith("leaf ")]
    before = [step for step in steps if step != steps[-1]]
    return before.count(before[-1]) if before else 0
