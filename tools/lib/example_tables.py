"""Writes the tables of config/examples/.

usage: example_tables.py DIR [NAME ...]    writes DIR/NAME/ for each name; the default is all:
                                           anomalies, churn, clicks, counts, flights, houses,
                                           quantiles, tags

`houses` are the California houses from a package (tables.py). The other tables are random with a
fixed seed, because no package has a table for each task. They have typical columns and faults.
Every fifth row is for testing.
"""
import math
import os
import random
import shutil
import sys

import parquet_file
import tables

GROUP_ROWS = 4000  # rows of a row group of Parquet


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def or_null(chance, share, value):
    """Returns `value`, or an empty text with the probability `share`."""
    return "" if chance.random() < share else value


def poisson(chance, mean):
    """Returns a Poisson-distributed number (Knuth's method)."""
    limit, product, count = math.exp(-mean), chance.random(), 0
    while product > limit:
        product *= chance.random()
        count += 1
    return count


def churn(rows=6000):
    """Generates customers of a telephone company: categories, dates, empty fields, an id."""
    chance = random.Random(1)
    names = ["customer", "plan", "region", "payment", "joined", "monthly_charge", "support_calls",
             "data_gb", "left"]
    plans = {"basic": 0.3, "plus": 0.0, "family": -0.6, "business": -0.9}
    payments = {"card": -0.2, "bank transfer": -0.4, "cheque": 0.6}
    regions = {"R%02d" % i: chance.gauss(0, 0.5) for i in range(14)}
    table = []
    for i in range(rows):
        plan, region = chance.choice(list(plans)), chance.choice(list(regions))
        payment, year = chance.choice(list(payments)), chance.randint(2015, 2023)
        charge, calls = chance.gauss(45, 15), poisson(chance, 1.5)
        usage = chance.lognormvariate(2, 0.8)
        score = (plans[plan] + regions[region] + payments[payment] + 0.25 * (year - 2019) +
                 0.05 * (charge - 45) + 0.7 * (calls - 1.5) - 0.4 * math.log(usage / 7) - 0.8)
        table.append(["C%06d" % i, plan, region, or_null(chance, 0.05, payment),
                      "%d-%02d-%02d" % (year, chance.randint(1, 12), chance.randint(1, 28)),
                      "%.2f" % charge, or_null(chance, 0.1, str(calls)),
                      or_null(chance, 0.03, "%.1f" % usage),
                      "yes" if chance.random() < sigmoid(2 * score) else "no"])
    return names, table


def flights(rows=20000):
    """Generates flights of a year: airlines, airports, dates."""
    chance = random.Random(2)
    names = ["date", "carrier", "origin", "dest", "hour", "distance", "wind", "late"]
    carriers = {chr(65 + i) + chr(75 + i): chance.gauss(0, 0.5) for i in range(12)}
    origins = {"EWR": 0.3, "JFK": 0.0, "LGA": -0.2}
    dests = {"D%02d" % i: (chance.gauss(0, 0.3), chance.randint(150, 2600)) for i in range(60)}
    table = []
    for _ in range(rows):
        month, hour = chance.randint(1, 12), chance.randint(5, 23)
        carrier, origin = chance.choice(list(carriers)), chance.choice(list(origins))
        dest, wind = chance.choice(list(dests)), chance.weibullvariate(11, 1.8)
        score = (carriers[carrier] + origins[origin] + dests[dest][0] + 0.14 * (hour - 14) +
                 (0.5 if month in (6, 7, 12) else 0) + 0.09 * (wind - 10) - 1.1)
        table.append(["2024-%02d-%02d" % (month, chance.randint(1, 28)), carrier, origin, dest,
                      hour, dests[dest][1], round(wind, 1),
                      "yes" if chance.random() < sigmoid(1.6 * score) else "no"])
    return names, table


def clicks(rows=40000):
    """Generates views of advertisements: thousands of sites and advertisements, few clicks."""
    chance = random.Random(3)
    names = ["site", "ad", "device", "hour", "click"]
    sites = [("s%04x" % chance.getrandbits(16), chance.gauss(0, 0.9)) for _ in range(1500)]
    ads = [("a%04x" % chance.getrandbits(16), chance.gauss(0, 0.9)) for _ in range(400)]
    devices = {"phone": 0.3, "tablet": 0.1, "desktop": -0.3}
    table = []
    for _ in range(rows):
        # A few sites have most of the views.
        site = sites[min(len(sites) - 1, int(chance.expovariate(1 / 120)))]
        ad = ads[min(len(ads) - 1, int(chance.expovariate(1 / 50)))]
        device, hour = chance.choice(list(devices)), chance.randint(0, 23)
        score = site[1] + ad[1] + devices[device] + 0.03 * (hour - 12) - 3.9
        table.append([site[0], ad[0], device, str(hour),
                      "1" if chance.random() < sigmoid(score) else "0"])
    return names, table


def tags(rows=5000):
    """Generates counts of words in articles, each of which may have several tags."""
    chance = random.Random(4)
    topics = ["art", "politics", "science", "sport"]
    words = {"w%02d" % i: [max(0.0, chance.gauss(0, 0.8)) for _ in topics] for i in range(24)}
    table = []
    for _ in range(rows):
        has = [chance.random() < 0.3 for _ in topics]
        counts = [poisson(chance, 0.3 + sum(w for w, h in zip(weights, has) if h))
                  for weights in words.values()]
        table.append([str(n) for n in counts] + ["1" if h else "0" for h in has])
    return list(words) + topics, table


def anomalies(rows=6000):
    """Generates sensors of a machine whose values depend on three variables. In a fault, one sensor
    does not depend on them. The training rows have no faults."""
    chance = random.Random(5)
    names = ["s%d" % i for i in range(10)] + ["fault"]
    mix = [[chance.gauss(0, 1) for _ in range(3)] for _ in range(10)]
    table = []
    for i in range(rows):
        hidden = [chance.gauss(0, 1) for _ in range(3)]
        values = [sum(m * h for m, h in zip(row, hidden)) + chance.gauss(0, 0.1) for row in mix]
        fault = i % 5 == 4 and chance.random() < 0.05
        if fault:
            values[chance.randrange(10)] += chance.choice((-1, 1)) * chance.uniform(1, 3)
        table.append(["%.4f" % v for v in values] + ["yes" if fault else "no"])
    return names, table


def counts(rows=8000):
    """Generates numbers of bicycles rented in an hour."""
    chance = random.Random(6)
    names = ["hour", "weekday", "temperature", "rain", "rented"]
    table = []
    for _ in range(rows):
        hour, weekday = chance.randint(0, 23), chance.randint(0, 6)
        temperature, rain = chance.gauss(14, 8), chance.random() < 0.2
        rush = (math.exp(-(hour - 8) ** 2 / 4) + 1.2 * math.exp(-(hour - 18) ** 2 / 6)
                if weekday < 5 else math.exp(-(hour - 14) ** 2 / 18))
        mean = math.exp(0.5 + 1.8 * rush + 0.05 * (temperature - 14) - 0.7 * rain)
        table.append([str(hour), str(weekday), "%.1f" % temperature, "yes" if rain else "no",
                      str(poisson(chance, mean))])
    return names, table


def quantiles(rows=8000):
    """Generates minutes until a parcel is delivered. Late parcels are much later than early parcels
    are early."""
    chance = random.Random(7)
    names = ["distance_km", "parcels", "hour", "minutes"]
    table = []
    for _ in range(rows):
        distance, parcels = chance.uniform(0.5, 20), chance.randint(1, 30)
        hour = chance.randint(8, 18)
        spread = 3 + 0.8 * distance + (6 if hour in (8, 17, 18) else 0)
        minutes = 8 + 2 * distance + 1.5 * parcels + chance.expovariate(1 / spread)
        table.append(["%.2f" % distance, str(parcels), str(hour), "%.1f" % minutes])
    return names, table


def write_parquet(folder, names, rows):
    """Writes two training files and one test file."""
    os.makedirs(folder, exist_ok=True)
    training = [row for i, row in enumerate(rows) if i % 5 != 4]
    half = len(training) // 2
    for name, part in (("train-0", training[:half]), ("train-1", training[half:]),
                       ("test", rows[4::5])):
        parquet_file.write(os.path.join(folder, name + ".parquet"),
                           list(zip(names, map(list, zip(*part)))), GROUP_ROWS, parquet_file.GZIP)


def houses(build):
    source = tables.fetch_large(os.path.join(build, "cache"), "california")
    os.makedirs(os.path.join(build, "houses"), exist_ok=True)
    shutil.copyfile(source, os.path.join(build, "houses", "houses.parquet"))


GENERATED = {"anomalies": anomalies, "churn": churn, "clicks": clicks, "counts": counts,
             "quantiles": quantiles, "tags": tags}
NAMES = sorted(list(GENERATED) + ["flights", "houses"])


def write(build, name):
    if name == "houses":
        houses(build)
    elif name == "flights":
        write_parquet(os.path.join(build, name), *flights())
    else:
        tables.write(os.path.join(build, name), *GENERATED[name]())


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(NAMES):
        sys.exit(__doc__)
    try:
        for wanted in sys.argv[2:] or NAMES:
            write(sys.argv[1], wanted)
            tables.say("%s: %s" % (wanted, os.path.join(sys.argv[1], wanted)))
    except RuntimeError as error:
        sys.exit("example_tables: %s" % error)
