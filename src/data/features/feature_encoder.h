// Encodes rows, as they are stored or decoded, into the inputs of the network. Uses the fitted
// preprocessing.
//
// Thread rule: const and safe from any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/aligned.h"
#include "src/data/features/vocabulary.h"
#include "src/data/table/decoded_rows.h"
#include "src/data/table/sparse_record.h"
#include "src/spec/input.h"
#include "src/spec/sparse_rows.h"

namespace espalier::data {

class FeatureEncoder {
 public:
  FeatureEncoder() = default;
  explicit FeatureEncoder(const spec::Preprocessing& preprocessing);

  int64_t features() const { return features_; }  // numbers per stored row
  int64_t dense() const { return dense_; }        // inputs per row, including pairs
  int64_t coded() const { return static_cast<int64_t>(coded_.size()); }
  // Returns the features that are codes, ascending.
  const std::vector<int32_t>& coded_features() const { return coded_features_; }
  // Returns the code of coded feature `k` in row `row` as decoded: the position of its text in the
  // feature's ShardTexts::categories, or the hashed code.
  int32_t DecodedCode(const DecodedRows& rows, int64_t row, size_t k) const;

  // Writes a row's numbers to `inputs` [dense] as (x - shift) * factor, after replacing nulls. If
  // the feature has an indicator, the next input is 1 for null and 0 otherwise. Bytes are computed
  // in T. Wider numbers are computed in double and then rounded to T. Numbers that are clipped or
  // have bins are always computed in double. Those with bins come last, each as its scaled number
  // and its position among its bins (bins.h). Codes go to `codes` [coded], with -1 for none. A
  // category is stored as its code, or as the number of codes if it has none. `row` has `features`
  // numbers of `type`.
  template <typename T>
  void Encode(spec::StorageType type, const void* row, T* inputs, int32_t* codes) const;

  // Adds a sparse row, with values of `type`, to `rows`. The inputs are the same except for
  // rounding. They are stored as differences from the inputs of a row of zeros. For columns far
  // from 0 (sparse_rows.h), the inputs themselves are stored, in every row. Codes go to `codes`.
  // `maps`: codes are as decoded; null: as stored. REQUIRES: PrepareSparse; the row contains all
  // its codes.
  template <typename T>
  void EncodeSparse(spec::StorageType type, const SparseRecord& row, const CodeMaps* maps,
                    spec::SparseRows<T>* rows, int32_t* codes) const;
  // Clears `rows`, which refer to this encoder from then on.
  template <typename T>
  void BeginSparse(spec::SparseRows<T>* rows) const;
  // Prepares sparse encoding. Call once.
  void PrepareSparse();

  // Encodes rows [begin, begin + count) as they were decoded, with the texts of their categories.
  // The result has the same bits as from a row store in a job whose rows have the type `job`. Rows
  // with numbers that such a store could not hold are computed as the wider numbers. The number of
  // categories next to a row, and thus the width of their codes, makes no difference. The only
  // exception is -0, which bytes cannot hold: it may be 0 in one of the two results.
  template <typename T>
  void EncodeRows(spec::StorageType job, const DecodedRows& rows, const CodeMaps& maps,
                  int64_t begin, int64_t count, T* inputs, int32_t* codes) const;

  // Does the same for a job that multiplies its rows sparse, and adds the rows to `out`. The rows
  // may be decoded sparse or dense and may have any type. REQUIRES: PrepareSparse.
  template <typename T>
  void EncodeSparseRows(const DecodedRows& rows, const CodeMaps& maps, int64_t begin, int64_t count,
                        spec::SparseRows<T>* out, int32_t* codes) const;

 private:
  template <typename T>
  struct Scaling {
    AlignedVector<T> shift, factor;
  };
  struct Number {
    int64_t feature = 0, input = 0;
    int64_t indicator = -1;  // index of an input; -1: none
    bool clips = false;
    std::vector<double> bin_edges = {};
  };
  struct Coded {
    int64_t feature = 0;
    int32_t codes = 0;
    int32_t vocabulary = -1;  // -1: hashed
  };

  template <typename T>
  const Scaling<T>& scaling() const;
  template <typename T>
  const std::vector<T>& base() const;
  bool Narrow(spec::StorageType from, const void* row, spec::StorageType to, void* out) const;
  template <typename T>
  void EncodeInDouble(const Number& number, double raw, T* out) const;
  template <typename From, typename T>
  void EncodeMixed(const From* row, T* inputs) const;
  template <typename T>
  void EncodeNumbers(spec::StorageType type, const void* row, T* inputs) const;
  // Returns the code of coded feature `k`, whose number in the row is `code`.
  int32_t CodeOf(size_t k, int32_t code, const CodeMaps* maps) const;
  void EncodeCodes(spec::StorageType type, const void* row, const CodeMaps* maps,
                   int32_t* codes) const;

  int64_t features_ = 0, dense_ = 0;
  Scaling<float> float_scaling_;  // by feature
  Scaling<double> double_scaling_;
  AlignedVector<double> null_values_;
  std::vector<float> float_base_;  // sparse: inputs of a row of zeros; empty if all are 0
  std::vector<double> double_base_;
  std::vector<int32_t> far_;         // sparse: features far from 0, ascending; 0 in the base
  std::vector<int32_t> place_;       // sparse, by feature: its input; for coded feature k: ~k
  std::vector<bool> has_indicator_;  // sparse, by feature
  bool plain_ = true;                // each feature is one input, in order and without a clip
  std::vector<Number> numbers_;
  std::vector<Coded> coded_;
  std::vector<int32_t> coded_features_;
};

}  // namespace espalier::data
