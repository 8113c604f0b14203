"""Records times of test runs in build/test. Makes the table of tools/test --times."""
import json
import os

import test_parts

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORDS = os.path.join(ROOT, "build", "test", "times.json")
DETAILS = 12     # rows below a part
DETAIL_S = 1.0   # minimum seconds of a row
COLD, WARM = "cold", "warm"


def read(path):
    try:
        with open(path) as f:
            return json.load(f)
    except (OSError, ValueError):
        return {}


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w") as f:
        json.dump(value, f, indent=1, sort_keys=True)
    os.replace(path + ".new", path)


def record(parts):
    """Records the latest cold and the latest warm run of each part."""
    kept = read(RECORDS)
    for part in (p for p in parts if p.whole):
        kept.setdefault(part.name, {})[COLD if part.cold else WARM] = {
            "wall_s": part.wall_s, "cpu_s": part.cpu_s, "cases": part.cases,
            "compiled_s": part.compiled_s, "tests_s": part.tests_s}
    write(RECORDS, kept)


def summary(parts):
    """Returns a table of the parts of this run with their budgets, and a warning for each part that
    took longer."""
    rows = [("part", "cases", "wall s", "cpu s", "budget s")]
    for part in parts:
        budget = test_parts.named(part.name).budget_s
        rows.append((part.name, part.cases, "%.0f" % part.wall_s, "%.0f" % part.cpu_s,
                     budget or "-"))
    rows.append(("in all", sum(p.cases for p in parts), "%.0f" % sum(p.wall_s for p in parts),
                 "%.0f" % sum(p.cpu_s for p in parts), "-"))
    lines = [aligned(rows)]
    for part in parts:
        budget = test_parts.named(part.name).budget_s
        if budget and part.wall_s > budget:
            lines.append("WARNING: %s took %.0f s, more than its budget of %d s (cpu s: of the "
                         "whole machine)" % (part.name, part.wall_s, budget))
    return "\n".join(lines)


def table():
    """Returns a table of each part, cold and warm, with its slowest rooms to compile and its
    slowest tests."""
    kept = read(RECORDS)
    if not kept:
        return "No run is recorded yet. Run tools/test."
    rows = [("part", "cold wall s", "cold cpu s", "warm wall s", "warm cpu s")]
    names = [part.name for part in test_parts.PARTS if part.name in kept]
    for name in names + sorted(set(kept) - set(names)):
        runs = [kept[name].get(COLD, {}), kept[name].get(WARM, {})]
        rows.append((name,) + tuple("%.0f" % run[kind] if run else "-"
                                    for run in runs for kind in ("wall_s", "cpu_s")))
        for kind, word in (("compiled_s", "compile "), ("tests_s", "")):
            both = [run.get(kind, {}) for run in runs]
            keys = sorted(set(both[0]) | set(both[1]),
                          key=lambda key: -max(run.get(key, 0) for run in both))
            for key in keys[:DETAILS]:
                if max(run.get(key, 0) for run in both) >= DETAIL_S:
                    cells = ["%.1f" % run[key] if key in run else "-" for run in both]
                    rows.append(("  " + word + key[-90:], cells[0], "", cells[1], ""))
    return aligned(rows)


def aligned(rows):
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join([row[0].ljust(widths[0])] + [
        cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]).rstrip() for row in rows)
