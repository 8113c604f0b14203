"""Draws tables and trains peers for the quality bench, in a private environment. See
bench_quality.py.

usage: bench_quality_program.py split JSON     writes train and test, as .csv and .parquet
       bench_quality_program.py generate JSON  writes a generated table, only as .csv
       bench_quality_program.py fit JSON       trains a peer, writes its answers for the test rows
       bench_quality_program.py edit JSON      writes jobs that differ from a complete job

Each command prints one JSON object. JSON is an object with the arguments of the function below.
"""
import json
import lzma
import os
import pickle
import resource
import sys
import time
import warnings

warnings.filterwarnings("ignore")
PRICE, DELAY = "price", "arr_delay"
AFTERWARDS = ["dep_time", "arr_time", "air_time"]  # columns known only after a flight


def wheel_frame(path):
    import pandas
    if path.endswith(".csv"):
        return pandas.read_csv(path)
    if path.endswith(".brotli"):
        return pandas.read_parquet(path)
    with lzma.open(path) as f:  # a pickle, whose hash tools/lib/tables.py checks
        return pickle.load(f).drop(columns="rownames")


def load(table, source):
    """Returns (frame, label)."""
    from sklearn import datasets
    if table in ("breast_cancer", "wine", "digits", "diabetes"):
        frame = getattr(datasets, "load_" + table)(as_frame=True).frame
        return frame.rename(columns=lambda name: name.replace(" ", "_")), "target"
    frame = wheel_frame(source)
    if table == "credit":
        label = "default-payment-next-month"
        frame[label] = frame[label].astype(int)
        return frame.drop(columns="ID"), label
    if table == "flights":
        return frame[frame[DELAY].notna() & frame.tailnum.notna()].drop(columns=AFTERWARDS), DELAY
    return frame, {"adult": "income", "california": "MedHouseVal", "diamonds": PRICE}[table]


def split(table, source, folder, number, rows_max, classes):
    """Draws at most `rows_max` rows (0: all) and holds out a quarter. Classes keep their shares."""
    import pandas
    from sklearn.model_selection import train_test_split
    frame, label = load(table, source)
    rows = len(frame)
    frame = frame.reset_index(drop=True).copy()
    for name in frame.columns:
        if not pandas.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].astype(str)
    if rows_max and rows > rows_max:
        frame = frame.sample(rows_max, random_state=number)
    parts = train_test_split(frame, test_size=0.25, random_state=number,
                             stratify=frame[label] if classes else None)
    for name, part in zip(("train", "test"), parts):
        part.to_csv(os.path.join(folder, name + ".csv"), index=False)
        part.to_parquet(os.path.join(folder, name + ".parquet"), index=False)
    return {"label": label, "rows": rows, "train_rows": len(parts[0])}


def generate(folder, rows):
    """Generates a table of twelve numbers and two categories with interactions. A tenth of `rows`
    is for testing."""
    import numpy
    import pandas
    chance = numpy.random.default_rng(1)
    small, large = chance.normal(size=20), chance.normal(size=200)
    for name, left in (("train", rows), ("test", rows // 10)):
        path = os.path.join(folder, name + ".csv")
        begin = 0
        while begin < left:
            n = min(250_000, left - begin)
            x = chance.normal(size=(n, 12))
            a, b = chance.integers(20, size=n), chance.integers(200, size=n)
            y = (numpy.sin(2 * x[:, 0]) * x[:, 1] + abs(x[:, 2]) + x[:, 3] * small[a] + large[b] +
                 0.3 * x[:, 4] * x[:, 5] + 0.5 * chance.normal(size=n))
            frame = pandas.DataFrame(x, columns=["x%d" % i for i in range(12)])
            frame = frame.assign(a=["a%d" % v for v in a], b=["b%d" % v for v in b], y=y)
            frame.to_csv(path, index=False, float_format="%.5g", header=begin == 0,
                         mode="a" if begin else "w")
            begin += n
    return {"label": "y", "rows": rows, "train_rows": rows}


def perceptron(classes, seed):
    """Returns scikit-learn's perceptron with defaults, on scaled numbers, one-hot categories and
    scaled targets."""
    import numpy
    from sklearn.compose import (ColumnTransformer, TransformedTargetRegressor,
                                 make_column_selector)
    from sklearn.impute import SimpleImputer
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    inputs = ColumnTransformer([
        ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
         make_column_selector(dtype_include=numpy.number)),
        ("categories", OneHotEncoder(handle_unknown="ignore"),
         make_column_selector(dtype_exclude=numpy.number))])
    if classes:
        return make_pipeline(inputs, MLPClassifier(random_state=seed))
    return TransformedTargetRegressor(make_pipeline(inputs, MLPRegressor(random_state=seed)),
                                      transformer=StandardScaler())


def peer_model(peer, classes, seed, words):
    if peer == "LightGBM":
        import lightgbm
        kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        return kind(random_state=seed, n_jobs=1, verbose=-1)
    if peer == "CatBoost":
        import catboost
        kind = catboost.CatBoostClassifier if classes else catboost.CatBoostRegressor
        return kind(random_seed=seed, thread_count=1, verbose=False, cat_features=words,
                    allow_writing_files=False)
    return perceptron(classes, seed)


def fit(peer, folder, label, classes, seed):
    """Trains on train.parquet, or train.csv of a generated table, and writes PEER.csv in the form
    of `espalier predict`."""
    import numpy
    import pandas

    def read(name):
        path = os.path.join(folder, name + ".parquet")
        return pandas.read_parquet(path) if os.path.exists(path) else pandas.read_csv(
            os.path.join(folder, name + ".csv"))

    train, test = read("train"), read("test")
    y = train.pop(label)
    y = y.astype(str) if classes else y
    test = test.drop(columns=label)
    words = [name for name in train if not pandas.api.types.is_numeric_dtype(train[name])]
    model = peer_model(peer, classes, seed, words)
    cpu, wall = time.process_time(), time.monotonic()
    if peer == "LightGBM":  # a value that the training rows do not have becomes missing
        kinds = {name: pandas.CategoricalDtype(sorted(train[name].unique())) for name in words}
        train, test = train.astype(kinds), test.astype(kinds)
    model.fit(train, y)
    result = {"cpu_s": time.process_time() - cpu, "wall_s": time.monotonic() - wall,
              "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    answers = pandas.DataFrame({"prediction": numpy.ravel(model.predict(test))})
    if classes:
        for name, column in zip(model.classes_, model.predict_proba(test).T):
            answers["probability_%s" % name] = column
    answers.to_csv(os.path.join(folder, peer + ".csv"), index=False)
    return result


def edit(complete, jobs):
    """Writes jobs, each [path, [[dotted key, value], ...]], from the file of a complete job. Prints
    the paths of jobs with a changed key. Adds no keys."""
    import yaml
    with open(complete) as f:
        text = f.read()
    changed = []
    for path, changes in jobs:
        job, before = yaml.safe_load(text), yaml.safe_load(text)
        for dotted, value in changes:
            *sections, key = dotted.split(".")
            place = job
            for section in sections:
                place = place.get(section, {})
            if key in place and value is None:
                del place[key]
            elif key in place:
                place[key] = value
        job["output"] = {"path": os.path.splitext(path)[0] + ".model", "overwrite": True}
        if {**job, "output": 0} != {**before, "output": 0}:
            changed.append(path)
        with open(path, "w") as f:
            json.dump(job, f)
    return {"changed": changed}


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("split", "generate", "fit", "edit"):
        sys.exit(__doc__)
    print(json.dumps(globals()[sys.argv[1]](**json.loads(sys.argv[2]))))
