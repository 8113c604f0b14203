"""Measures the peak memory of a process and of its descendants."""
import glob
import threading
import time


def descendants(pid):
    found, parents = [pid], {}
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat) as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(stat.split("/")[2]))
    for one in found:
        found.extend(parents.get(one, []))
    return found


class MemoryWatch:
    """Thread that measures the peak memory of a process and of each descendant. megabytes() returns
    the sum after the end of the process."""

    def __init__(self, process):
        self.process, self.peaks = process, {}
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        while self.process.poll() is None:
            for pid in descendants(self.process.pid):
                try:
                    with open("/proc/%d/status" % pid) as f:
                        peak = next(line for line in f if line.startswith("VmHWM"))
                    self.peaks[pid] = int(peak.split()[1])
                except (OSError, StopIteration):
                    continue
            time.sleep(0.05)

    def megabytes(self):
        self.thread.join()
        return sum(self.peaks.values()) / 1024
