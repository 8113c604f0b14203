"""Runs the peers of the measurements: Arrow's CSV reader and PyTorch."""
import json
import os
import random
import subprocess

import private_python

WORDS = ["espalier", "trellis", "quince", "medlar", "a pear of the late kind", "fig", "vine"]
ARROW = ["numpy==1.26.4", "pyarrow==23.0.1"]
TORCH = ["numpy==1.26.4", "torch==2.6.0"]

# Reads the files in order into one row-major array, with every column except text as float32. Our
# row store has the same content. Prints MB/s of the fastest round.
ARROW_PROGRAM = """
import csv as plain, json, os, sys, time
import numpy as np, pyarrow as pa, pyarrow.csv as csv
rounds, threads, text = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
files = sys.argv[4:]
pa.set_cpu_count(threads)
pa.set_io_thread_count(1)
columns = len(next(plain.reader(open(files[0]))))
names = ["c%d" % i for i in range(columns)]
read = csv.ReadOptions(use_threads=threads > 1, block_size=4 << 20, column_names=names)
types = {n: pa.string() if i in text else pa.float32() for i, n in enumerate(names)}
convert = csv.ConvertOptions(column_types=types)
numbers = [i for i in range(columns) if i not in text]
def one(path):
    table = csv.read_csv(path, read_options=read, convert_options=convert)
    rows = np.empty((table.num_rows, len(numbers)), np.float32)
    for i, column in enumerate(numbers):
        at = 0
        for chunk in table.column(column).chunks:
            rows[at:at + len(chunk), i] = chunk.to_numpy()
            at += len(chunk)
best = 1e9
for _ in range(rounds + 1):
    started = time.perf_counter()
    for path in files:
        one(path)
    best = min(best, time.perf_counter() - started)
print(sum(os.path.getsize(p) for p in files) / best / 1e6)
"""

# Trains 784-256-256-10 ReLU with Adam and a global batch of 256. "steps" measures a step with one
# thread, and a step of two DDP processes of one thread each over gloo. It prints medians of 300 as
# one JSON object. "job" runs the whole job of tools/bench with two DDP processes, from CSV (numpy's
# reader) to a saved model.
TORCH_PROGRAM = """
import glob, json, os, statistics, sys, tempfile, time
import numpy as np
import torch, torch.distributed as dist, torch.multiprocessing as mp, torch.nn as nn
def network():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                         nn.Linear(256, 10))
def join(rank, meeting):
    dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=2)
def steps(batch, model):
    optimizer, loss = torch.optim.Adam(model.parameters()), nn.CrossEntropyLoss()
    x, y, times = torch.rand(batch, 784), torch.randint(10, (batch,)), []
    for _ in range(350):
        started = time.perf_counter()
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
        times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times[50:])
def step_member(rank, meeting, out):
    join(rank, meeting)
    ms = steps(128, nn.parallel.DistributedDataParallel(network()))
    if rank == 0:
        open(out, "w").write(str(ms))
def load(folder):
    parts = [np.loadtxt(p, delimiter=",", dtype=np.float32) for p in
             sorted(glob.glob(folder + "/*.csv"))]
    rows = torch.from_numpy(np.concatenate(parts))
    return rows[:, 1:] / 255, rows[:, 0].long()
def job_member(rank, meeting, out, data):
    join(rank, meeting)
    x, y = load(data + "/train")
    count = len(x) * 4 // 5
    held = x[count:], y[count:]
    x, y = x[rank:count:2].contiguous(), y[rank:count:2].contiguous()
    model = nn.parallel.DistributedDataParallel(network())
    optimizer, loss = torch.optim.Adam(model.parameters()), nn.CrossEntropyLoss()
    for epoch in range(5):
        for rows in torch.randperm(len(x)).split(128):
            optimizer.zero_grad()
            loss(model(x[rows]), y[rows]).backward()
            optimizer.step()
        with torch.no_grad():
            (model(held[0]).argmax(1) == held[1]).float().mean().item()
    if rank == 0:
        torch.save(model.module.state_dict(), out)
if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        meeting, out = os.path.join(folder, "meeting"), os.path.join(folder, "out")
        if sys.argv[1] == "job":
            mp.spawn(job_member, (meeting, out, sys.argv[2]), nprocs=2)
        else:
            found = {"step_1x1_ms": steps(256, network())}
            mp.spawn(step_member, (meeting, out), nprocs=2)
            found["step_ddp_2x1_ms"] = float(open(out).read())
            print(json.dumps(found))
"""


def write_floats(path, rows=300_000, columns=9):
    """Writes a table of floats with up to 9 digits, without a header, of about 30 MB."""
    chance = random.Random(1)
    with open(path, "w") as f:
        for _ in range(rows):
            f.write(",".join(["%.8g" % chance.gauss(0, 100) for _ in range(columns)]) + "\n")


def write_quoted(path, rows=200_000):
    """Writes a table without a header, of about 30 MB. Each row has a text with delimiters and
    quotes, six quoted numbers and a quoted class."""
    chance = random.Random(1)
    with open(path, "w") as f:
        for _ in range(rows):
            name = '"%s, the ""%s"" of %s; %s"' % tuple(chance.choice(WORDS) for _ in range(4))
            numbers = ['"%.5f"' % chance.gauss(0, 100) for _ in range(6)]
            f.write(",".join([name] + numbers + ['"%s"' % chance.choice(WORDS)]) + "\n")


def arrow_csv(files, rounds, threads=1, text=()):
    """Returns MB/s of pyarrow. `text` lists the positions of columns that are not numbers."""
    python = private_python.ensure("bench", ARROW)
    done = subprocess.run([python, "-c", ARROW_PROGRAM, str(rounds), str(threads),
                           json.dumps(text)] + files, check=True,
                          text=True, capture_output=True)
    return float(done.stdout)


def torch_command(root, *arguments):
    """Returns the command that runs TORCH_PROGRAM in a private environment."""
    python = private_python.ensure("torch", TORCH)
    path = os.path.join(root, "build", "torch_peer.py")
    with open(path, "w") as f:  # a file, because spawned processes import it
        f.write(TORCH_PROGRAM)
    return [python, path] + list(arguments)


def torch_steps(root):
    """Returns the milliseconds of PyTorch's steps."""
    done = subprocess.run(torch_command(root, "steps"), text=True, capture_output=True,
                          timeout=600, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])
