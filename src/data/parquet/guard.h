// Converts Arrow's exceptions to statuses. Thread rule: pure function.
#pragma once

#include <arrow/status.h>
#include <parquet/exception.h>

#include <exception>
#include <new>

namespace espalier::data {

// Runs `body`, which calls Arrow, and converts exceptions to statuses.
template <typename F>
arrow::Status Guarded(F&& body) {
  try {
    return body();
  } catch (const parquet::ParquetStatusException& e) {
    return e.status();
  } catch (const std::bad_alloc&) {
    return arrow::Status::OutOfMemory("no memory");
  } catch (const std::exception& e) {
    return arrow::Status::IOError(e.what());
  }
}

}  // namespace espalier::data
