#include "src/data/text/reader.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/data/features/sparse_choice.h"
#include "src/data/table/pack_sparse.h"
#include "src/data/text/text_scan.h"

namespace espalier::data {
namespace {

// Number of rows that is enough to estimate the rows of a shard and to see whether they are sparse.
constexpr int64_t kRowsBeforeReserve = 256;
// Maximum number of rejects in a piece.
constexpr size_t kPieceRejects = 1024;
// Size of the beginning of a text, in bytes, for which scored rows get their line number. Counting
// lines reads the text again.
constexpr int64_t kLinesCounted = int64_t{64} << 20;

// A shard in the process of being read. It passes its rows on in pieces, or keeps them if `take` is
// null.
class TextShard final : public RowPlaces {
 public:
  TextShard(const ShardReader& reader, int shard, const TakePiece& take, TextScan* scan)
      : schema_(reader.table().plan.schema),
        range_(reader.table().plan.shards[shard]),
        options_(reader.options()),
        path_(reader.table().plan.files[range_.file].path),
        scoring_(options_.rules == RowRules::kScoring),
        take_(take),
        scan_(*scan),
        decoder_(scan->decoder()),
        unusable_(options_.rules, reader.table().job.data.bad_rows, &rows_),
        kept_(options_.kept.size()) {
    if (options_.truth_words) decoder_.AcceptTruthWords();
    if (!scoring_) decoder_.RequireUtf8();  // otherwise unknown text is only unseen
    const std::vector<std::string>& names = scan->schema().names;
    for (const int32_t position : options_.kept) {
      const auto field = std::find(names.begin(), names.end(), schema_.names[position]);
      kept_fields_.push_back(static_cast<size_t>(field - names.begin()));
    }
  }

  // Returns false if the rows are to be kept and the first ones show that they are not sparse.
  Result<bool> Read() {
    for (int64_t taken = 0;;) {
      const TextScan::Outcome outcome = scan_.Next();
      if (outcome == TextScan::Outcome::kEnd) break;
      if (outcome == TextScan::Outcome::kFailed) return scan_.error();
      // The texts of a row stay in memory even if the row is left out.
      ESPALIER_RETURN_IF_ERROR(decoder_.features().CheckTexts(path_, options_.rules));
      if (outcome == TextScan::Outcome::kRow) {
        if (!take_ && !KeepRow(++taken)) return false;
        if (scoring_) NotePlace();
      } else if (outcome == TextScan::Outcome::kDropped) {
        if (scoring_) Keep();
        unusable_.TakeDropped([this] { return scan_.DroppedRow(CountsLines()); });
      } else {
        if (scoring_) Keep();
        ESPALIER_RETURN_IF_ERROR(
            unusable_.TakeBad([this] { return scan_.BadRow(!scoring_ || CountsLines()); }));
      }
      if (take_ && IsFull()) ESPALIER_RETURN_IF_ERROR(HandOn());
    }
    if (take_) ESPALIER_RETURN_IF_ERROR(HandOn());
    return true;
  }

  // REQUIRES: Read returned true.
  ShardRows Finish() {
    rows_.checksum = scan_.reader().checksum();
    if (take_) return std::move(rows_);
    rows_.texts = decoder_.TakeTexts();
    rows_.sample = decoder_.Sample();
    rows_.probed = decoder_.TakeProbed();
    rows_.places = decoder_.TakePlaces();
    rows_.sets = std::move(decoder_.sets());
    return std::move(rows_);
  }

  InputPosition OfRow(int64_t row) override {
    const int64_t offset = offsets_[static_cast<size_t>(row)];
    return scan_.PlaceOf(offset, offset <= kLinesCounted);
  }
  // The piece ends with the row that was just read.
  InputPosition OfLabel(int /*set*/, int64_t /*row*/) override { return scan_.PlaceOfLabel(); }

 private:
  bool CountsLines() const { return scan_.reader().record_offset() <= kLinesCounted; }

  // Reserves memory for the whole shard once enough rows are kept. Returns the same as Read.
  bool KeepRow(int64_t taken) {
    if (taken != kRowsBeforeReserve) return true;
    if (scan_.sparse() && !AreSparse(decoder_.sets(), static_cast<int64_t>(schema_.features.size()),
                                     CodedFeatures(schema_))) {
      return false;
    }
    // The length of the text is unknown. The beginning of the file may not represent the rest.
    if (scan_.has_other_length()) return true;
    const auto read = static_cast<double>(scan_.reader().position() - range_.begin);
    decoder_.Reserve(std::min(1.0, read / static_cast<double>(range_.end - range_.begin)));
    return true;
  }

  void NotePlace() {
    slots_.push_back(static_cast<int64_t>(slots_.size() + unusable_.rejects().size()));
    offsets_.push_back(scan_.reader().record_offset());
    Keep();
  }

  // Keeps the columns of a record by position. A bad record may have only some of its fields.
  void Keep() {
    const RecordReader& record = scan_.reader();
    const size_t fields = scan_.has_fields() ? record.fields() - record.added() : 0;
    const size_t own = scan_.schema().names.size() - scan_.schema().partitions;
    for (const size_t field : kept_fields_) {
      if (field < own) {
        kept_.AddField(field < fields ? record.shown(field) : std::string_view());
      } else {  // the name of a directory, after the record's fields
        const size_t at = fields + field - own;
        kept_.AddField(scan_.has_fields() ? record.shown(at) : std::string_view());
      }
    }
  }

  bool IsFull() const {
    size_t bytes = 0;
    for (const DecodedRows& set : decoder_.sets()) bytes += set.FeatureBytes();
    return std::max(bytes, kept_.bytes()) >= options_.piece_bytes ||
           unusable_.rejects().size() >= kPieceRejects;
  }

  Status HandOn() {
    const auto is_empty = [](const DecodedRows& set) { return set.rows == 0; };
    DecodedSets& sets = decoder_.sets();
    if (std::all_of(sets.begin(), sets.end(), is_empty) && unusable_.rejects().empty()) return {};
    ESPALIER_RETURN_IF_ERROR(
        take_({sets, decoder_.texts(), kept_, unusable_.rejects(), slots_, *this}));
    for (DecodedRows& set : sets) set.Clear();
    if (scoring_) decoder_.ForgetCategories();
    kept_.Clear();
    unusable_.ForgetRejects();
    offsets_.clear();
    slots_.clear();
    return {};
  }

  const spec::Schema& schema_;
  const spec::Shard& range_;
  const ReadOptions& options_;
  const std::string& path_;
  const bool scoring_;
  const TakePiece& take_;
  TextScan& scan_;
  RowDecoder& decoder_;
  ShardRows rows_;
  UnusableRows unusable_;
  std::vector<size_t> kept_fields_;  // positions of the kept columns in the file
  PassthroughColumns kept_;
  std::vector<int64_t> offsets_, slots_;  // kScoring: places of the piece's rows
};

class TextReader final : public ShardReader {
 public:
  using ShardReader::ShardReader;

  Result<ShardRows> Read(int shard, const TakePiece& take) const override {
    const spec::InputPlan& plan = table().plan;
    const std::string& path = plan.files[plan.shards[shard].file].path;
    bool sparse = options().sparse && DecodesSparse(table().job, plan.schema, path);
    for (;; sparse = false) {
      ESPALIER_ASSIGN_OR_RETURN(const auto scan,
                                TextScan::Open(table(), shard, options().room, sparse));
      TextShard underway(*this, shard, take, scan.get());
      ESPALIER_ASSIGN_OR_RETURN(const bool done, underway.Read());
      if (done) return underway.Finish();
    }
  }
};

}  // namespace

std::unique_ptr<ShardReader> MakeTextReader(const TableSource& table, const ReadOptions& options) {
  return std::make_unique<TextReader>(table, options);
}

}  // namespace espalier::data
