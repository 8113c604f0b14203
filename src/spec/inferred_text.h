// The columns that `columns: auto` found, for people.
//
// Thread rule: a pure function.
#pragma once

#include <string>

#include "src/spec/input.h"

namespace espalier::spec {

// Returns what `columns: auto` found in addition to numbers, for logs and reports: "categorical:
// job, city; date: signup; numeric: 12 others; left out: id (different in nearly every row)". Empty
// if it found nothing. Column names are not escaped and may contain any bytes.
std::string InferredText(const Schema& schema);

}  // namespace espalier::spec
