#include "src/data/text/row_decoder.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "src/base/text.h"
#include "src/data/features/feature_decoder.h"
#include "src/data/table/advice.h"
#include "src/data/table/number.h"
#include "src/data/table/number_check.h"
#include "src/data/table/row_words.h"
#include "src/data/table/shard_rows.h"

namespace espalier::data {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Returns whether InFileOrder left out the name of a column.
bool IsLeftOut(const std::string& name) { return name.size() == 1 && name[0] == '\0'; }

// Parses eight fields of one digit each, as in "0,0,7,0,0,0,1,0,". Returns true if all are digits.
inline bool EightDigits(const char* text, uint8_t* out) {
  const __m128i every_other =
      _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
  const __m128i digits = _mm_shuffle_epi8(_mm_sub_epi8(raw, _mm_set1_epi8('0')), every_other);
  const __m128i over = _mm_subs_epu8(digits, _mm_set1_epi8(9));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), digits);
  return _mm_testz_si128(over, over) != 0;
}

// Returns the number in the one to three digits before `end`. Sets bits of *bad if the text is not
// a number like this or is above 255. The four bytes before `end` are readable.
inline uint32_t UpToThreeDigits(const char* end, uint32_t length, uint32_t* bad) {
  uint32_t x;
  std::memcpy(&x, end - 4, 4);
  // The digits are in the high bytes. The mask clears the bytes before them.
  const uint32_t mask = static_cast<uint32_t>(0xFFFFFFFF00000000 >> ((8 * length) & 63));
  x = (x ^ 0x30303030) & mask;
  const uint32_t value = (x >> 24) + ((x >> 16) & 0xFF) * 10 + ((x >> 8) & 0xFF) * 100;
  *bad |= (length - 1 > 2) | (((x + 0x76767676) | x) & 0x80808080) | (value >> 8);
  return value;
}

}  // namespace

RowDecoder::RowDecoder(const TableSource& table, const spec::Schema& schema, int32_t file,
                       MemoryBudget* room, bool sparse)
    : schema_(schema),
      job_(table.job),
      role_(table.plan.files[file].role),
      file_(file),
      classification_(job_.model.task == spec::Task::kClassification),
      float32_(job_.model.precision == spec::Precision::kFloat32),
      sparse_(sparse),
      draw_(job_, file),
      deciding_(job_, schema, file),
      picker_(job_, schema),
      features_(job_.data, schema,
                spec::FormatOf(job_.data, table.plan.files[file].path) == spec::DataFormat::kCsv),
      bytes_(schema.features.size() + 8),  // EightDigits may write past the last one
      values_(schema.features.size()),
      targets_(classification_ ? 0 : schema.label.size()),
      sets_{DecodedRows(room), DecodedRows(room), DecodedRows(room)} {
  const std::vector<int32_t>& columns = table.plan.files[file].columns;
  const auto empty = std::find(columns.begin(), columns.end(), spec::InputFile::kEmpty);
  if (empty != columns.end()) empty_ = static_cast<int32_t>(empty - columns.begin());
  const std::string& path = table.plan.files[file].path;
  if (spec::FormatOf(job_.data, path) == spec::DataFormat::kCsv) FindFileStarts();
  if (sparse_) {
    for (DecodedRows& set : sets_) set.sparse = true;
    slots_.assign(schema.names.size(), -1);
    for (size_t slot = 0; slot < schema.features.size(); ++slot) {
      slots_[static_cast<size_t>(schema.features[slot])] = static_cast<int32_t>(slot);
    }
    return;
  }
  size_t other = 0;  // index among the features that are not plain
  const std::vector<int32_t>& others = features_.decoded();
  for (size_t slot = 0; slot < schema.features.size(); ++slot) {
    if (other < others.size() && others[other] == static_cast<int32_t>(slot)) {
      ++other;
      continue;
    }
    const int32_t column = schema.features[slot];
    if (!runs_.empty() && runs_.back().column + runs_.back().count == column &&
        runs_.back().slot + runs_.back().count == static_cast<int32_t>(slot)) {
      ++runs_.back().count;
    } else {
      runs_.push_back({column, 1, static_cast<int32_t>(slot)});
    }
  }
}

void RowDecoder::FindFileStarts() {
  starts_file_[static_cast<uint8_t>(kByteOrderMark[0])] = true;
  if (!job_.data.csv.header) return;
  const size_t own = schema_.names.size() - static_cast<size_t>(schema_.partitions);
  // A row may equal a header of numbers by chance.
  const auto is_word = [](const std::string& name) {
    double value = 0;
    return ParseNumberSlowly(name, &value) != NumberKind::kNumber;
  };
  const auto end = schema_.names.begin() + static_cast<std::ptrdiff_t>(own);
  if (std::none_of(schema_.names.begin(), end, is_word)) return;
  own_columns_ = own;
  const std::string& first = schema_.names[0];
  if (first.empty() || IsLeftOut(first)) {
    starts_file_.fill(true);
  } else {
    starts_file_[static_cast<uint8_t>(first[0])] = true;
  }
}

bool RowDecoder::Bad(std::string message, int32_t column) {
  problem_ = {std::move(message), column};
  return false;
}

bool RowDecoder::DecodeDigits(const RecordReader& reader) {
  const char* text = reader.text();
  const uint32_t* ends = reader.ends();
  uint32_t bad = 0;
  for (const Run& run : runs_) {
    uint32_t begin = run.column == 0 ? 0 : ends[run.column - 1] + 1;
    const uint32_t* end = ends + run.column;
    uint8_t* out = bytes_.data() + run.slot;
    for (int32_t i = 0; i < run.count;) {
      if (i + 8 <= run.count && end[i + 7] - begin == 15 && EightDigits(text + begin, out + i)) {
        begin += 16;
        i += 8;
        continue;
      }
      const int32_t stop = std::min(i + 8, run.count);
      for (; i < stop; ++i) {
        out[i] = static_cast<uint8_t>(UpToThreeDigits(text + end[i], end[i] - begin, &bad));
        begin = end[i] + 1;
      }
    }
    if (bad != 0) return false;
  }
  return true;
}

bool RowDecoder::DecodeFeature(const char* begin, const char* end, int32_t slot) {
  double value = 0;
  const int32_t column = schema_.features[slot];
  switch (features_.rules_of(column).ParseNumber({begin, end}, &value)) {
    case NumberKind::kNumber:
      break;
    case NumberKind::kNull:
      return TakeNull(slot);
    case NumberKind::kInfinite:
      return Bad(FeatureFault(Fault::kInfinite), column);
    case NumberKind::kNotNumber: {
      const std::string_view word = Trimmed({begin, end});
      const auto truth = truth_words_ && word.size() >= 4 ? BooleanWord(word) : std::nullopt;
      if (!truth) return Bad(NotNumberFault({begin, end}), column);
      value = *truth ? 1 : 0;
      break;
    }
  }
  if (float32_ && std::isinf(static_cast<float>(value))) {
    return Bad(FeatureFault(Fault::kTooLarge), column);
  }
  values_[slot] = value;
  return true;
}

bool RowDecoder::TakeNull(int32_t slot) {
  const spec::NullKind nulls = features_.nulls(static_cast<size_t>(slot));
  if (nulls == spec::NullKind::kFail)
    return Bad(FeatureFault(Fault::kMissing), schema_.features[slot]);
  drops_ = drops_ || nulls == spec::NullKind::kDrop;
  values_[slot] = std::numeric_limits<double>::quiet_NaN();
  return true;
}

bool RowDecoder::DecodeOther(std::string_view text, int32_t slot) {
  auto problem = features_.Decode(static_cast<size_t>(slot), text, &values_[slot]);
  if (problem) return Bad(*std::move(problem), schema_.features[slot]);
  return !std::isnan(values_[slot]) || TakeNull(slot);
}

bool RowDecoder::DecodeOthers(const RecordReader& reader) {
  for (const int32_t slot : features_.decoded()) {
    if (!DecodeOther(reader.field(schema_.features[slot]), slot)) return false;
  }
  return true;
}

bool RowDecoder::DecodeFeatures(const RecordReader& reader) {
  const char* text = reader.text();
  const uint32_t* ends = reader.ends();
  const bool plain = features_.rules().plain();
  drops_ = false;
  for (const Run& run : runs_) {
    double* const out = values_.data() + run.slot;
    const uint32_t* const end = ends + run.column;
    const auto decode = [=, this](auto parse) {
      const char* from = text + (run.column == 0 ? 0 : end[-1] + 1);
      for (int32_t i = 0; i < run.count; ++i) {
        const char* const to = text + end[i];
        if (!parse(from, to, out + i) && !DecodeFeature(from, to, run.slot + i)) return false;
        from = to + 1;
      }
      return true;
    };
    const bool good = plain ? decode([](auto... place) { return ParseDecimal(place...); })
                            : decode([](const char*, const char*, double*) { return false; });
    if (!good) return false;
  }
  return features_.decoded().empty() || DecodeOthers(reader);
}

bool RowDecoder::DecodeEntries(const RecordReader& reader) {
  const bool plain = features_.rules().plain();
  drops_ = false;
  entry_slots_.clear();
  entries_.clear();
  auto code = features_.decoded().begin();  // categories, which are present in all rows
  const auto no_code = features_.decoded().end();
  const auto decode_code = [&](std::string_view text) {
    if (!DecodeOther(text, *code)) return false;
    entry_slots_.push_back(*code);
    entries_.push_back(values_[static_cast<size_t>(*code)]);
    ++code;
    return true;
  };
  for (const RecordReader::Entry& entry : reader.entries()) {
    const int32_t slot = slots_[entry.column];
    if (slot < 0) continue;
    while (code != no_code && *code < slot) {
      if (!decode_code("0")) return false;
    }
    if (code != no_code && *code == slot) {
      if (!decode_code(entry.text)) return false;
      continue;
    }
    const char *begin = entry.text.data(), *end = begin + entry.text.size();
    double& value = values_[static_cast<size_t>(slot)];
    if (!(plain && ParseDecimal(begin, end, &value)) && !DecodeFeature(begin, end, slot)) {
      return false;
    }
    if (value == 0) continue;
    entry_slots_.push_back(slot);
    entries_.push_back(value);
  }
  while (code != no_code) {
    if (!decode_code("0")) return false;
  }
  return true;
}

bool RowDecoder::Number(const RecordReader& reader, int32_t column, const char* what,
                        double* value) {
  const std::string_view text = reader.field(column);
  const ValueRules& rules = features_.rules_of(column);
  const bool decimal = rules.plain() && ParseDecimal(text.data(), text.data() + text.size(), value);
  switch (decimal ? NumberKind::kNumber : rules.ParseNumber(text, value)) {
    case NumberKind::kNumber:
      break;
    case NumberKind::kNull:
      return Bad(NumberFault(what, Fault::kMissing), column);
    case NumberKind::kInfinite:
      return Bad(NumberFault(what, Fault::kInfinite), column);
    case NumberKind::kNotNumber:
      return Bad(NumberFault(what, Fault::kNotNumber), column);
  }
  if (float32_ && std::isinf(static_cast<float>(*value))) {
    return Bad(NumberFault(what, Fault::kTooLarge), column);
  }
  return true;
}

bool RowDecoder::DecodeLabel(const RecordReader& reader) {
  if (schema_.label.empty()) return true;
  if (!classification_) {
    const bool multilabel = job_.model.task == spec::Task::kMultilabel;
    for (size_t i = 0; i < targets_.size(); ++i) {
      const int32_t column = schema_.label[i];
      const auto word = multilabel ? BooleanWord(reader.field(column)) : std::nullopt;
      if (word) {  // as Parquet's booleans
        targets_[i] = *word ? 1 : 0;
        continue;
      }
      if (!Number(reader, column, "label", &targets_[i])) return false;
      if (multilabel && targets_[i] != 0 && targets_[i] != 1) {
        return Bad(NumberFault("label", Fault::kNotBinary), column);
      }
    }
    return true;
  }
  const int32_t column = schema_.label[0];
  const ValueRules& rules = features_.rules_of(column);
  const std::string_view written = Trimmed(reader.field(column));
  const LabelTexts& known = features_.texts().labels;
  if (rules.has_points()) {
    label_ = known.Find(written);
    if (label_ >= 0) return true;  // the text was checked when it was new
  }
  const std::string text = rules.PlainText(written);
  if (rules.IsNullLabel(written) || rules.IsNullLabel(text)) {
    return Bad(written.empty() ? LabelFault(0) : MissingLabelFault(written), column);
  }
  label_ = known.Find(text);
  if (label_ >= 0) return true;
  if (text.size() > kLabelBytesMax) return Bad(LabelFault(text.size()), column);
  if (auto fault = features_.NameFault(text)) return Bad(*std::move(fault), column);
  label_ = features_.texts().labels.IndexOf(text);
  return true;
}

bool RowDecoder::DecodeWeight(const RecordReader& reader) {
  if (!Number(reader, schema_.weight, "weight", &weight_)) return false;
  if (weight_ < 0) return Bad(NumberFault("weight", Fault::kNegative), schema_.weight);
  if (float32_ && spec::VanishesInFloat(weight_)) {
    return Bad(NumberFault("weight", Fault::kTooSmall), schema_.weight);
  }
  return true;
}

std::string_view RowDecoder::LabelText() {
  if (!draw_.stratified() || !classification_) return {};
  return texts().labels.texts()[static_cast<size_t>(label_)];
}

int RowDecoder::SetOf(const RecordReader& reader, bool drops) {
  if (role_ != spec::FileRole::kTrain) return static_cast<int>(role_);
  if (draw_.active()) {
    const int64_t at = reader.record_offset();
    const bool drawn = !draw_.by_part()   ? draw_.Draws(static_cast<uint64_t>(at))
                       : targets_.empty() ? draw_.Draws(at / kStratumBytes, label_, LabelText())
                                          : draw_.Draws(at / kStratumBytes, targets_.front());
    return drawn ? kValidationSet : kTrainSet;
  }
  const auto at = static_cast<uint64_t>(reader.record_offset());
  const std::string_view text = Trimmed(reader.field(schema_.validation));
  if (const auto role = deciding_.RoleOf(text, at, drops)) return static_cast<int>(*role);
  Bad(deciding_.fault(), schema_.validation);
  return -1;
}

Status RowDecoder::Append(DecodedRows* rows, bool digits) {
  const std::span<const double> values = sparse_ ? entries_ : values_;
  if (!digits && type_ != spec::StorageType::kFloat64) {
    type_ = NarrowestType(values, type_);
    for (DecodedRows& set : sets_) ESPALIER_RETURN_IF_ERROR(set.WidenTo(type_));
  }
  ESPALIER_RETURN_IF_ERROR(sparse_  ? rows->AppendSparse(entry_slots_, values)
                           : digits ? rows->AppendBytes({bytes_.data(), values_.size()})
                                    : rows->AppendDoubles(values));
  if (classification_) ESPALIER_RETURN_IF_ERROR(rows->labels.Add(label_));
  for (const double target : targets_) ESPALIER_RETURN_IF_ERROR(rows->targets.Add(target));
  if (schema_.weight >= 0) ESPALIER_RETURN_IF_ERROR(rows->weights.Add(weight_));
  return {};
}

void RowDecoder::Reserve(double done) {
  for (DecodedRows& set : sets_) {
    const size_t rows = static_cast<size_t>(static_cast<double>(set.rows) / done * 1.03);
    if (sparse_) {
      const auto entries =
          static_cast<size_t>(static_cast<double>(set.columns.size()) / done * 1.03);
      set.features.Reserve(entries * ElementBytes(set.type));
      set.columns.Reserve(entries);
      set.ends.Reserve(rows);
    } else {
      set.features.Reserve(rows * values_.size() * ElementBytes(set.type));
    }
    if (classification_) set.labels.Reserve(rows);
    set.targets.Reserve(rows * targets_.size());
    if (schema_.weight >= 0) set.weights.Reserve(rows);
  }
}

bool RowDecoder::CheckFields(const RecordReader& reader) {
  const size_t expected = schema_.names.size() - reader.added();
  const size_t fields = reader.fields() - reader.added();
  const spec::CsvOptions& csv = job_.data.csv;
  if (fields != expected) {
    bool backslash = false;  // before an apparent delimiter
    bool lone_return = false;
    for (size_t i = 0; i < fields; ++i) {
      const std::string_view field = reader.field(i);
      backslash = backslash || (i + 1 < fields && field.ends_with('\\'));
      lone_return = lone_return || field.find('\r') != std::string_view::npos;
    }
    const bool last = fields == expected + 1 && reader.field(fields - 1).empty();
    return Bad(
        "the row has " + std::to_string(fields) + (fields == 1 ? " field" : " fields") +
            ", expected " + std::to_string(expected) +
            (csv.header ? " as in the header" : " as in the first row") +
            (lone_return ? ". It contains a carriage return, as if the file mixed line ends. Write "
                           "all line ends in the same way"
             : last      ? ". It ends with a delimiter that other lines do not have: take it out"
             : backslash && !csv.escape
                 ? std::string(". A backslash is before a delimiter: if it is an escape") +
                       advice::kEscapedDelimiter.training
                 : "; is a delimiter missing, or one too many (quote fields that hold one)?"),
        -1);
  }
  if (empty_ < 0 || Trimmed(reader.field(static_cast<size_t>(empty_))).empty()) return true;
  return Bad(std::string(
                 "the last field has no name and is empty in the first rows, but not in this one") +
                 advice::kUnnamedField.training,
             -1);
}

bool RowDecoder::CheckJoint(const RecordReader& reader) {
  if (reader.record_offset() > 0 && reader.field(0).starts_with(kByteOrderMark)) {
    return Bad(
        "the row starts with a byte order mark, as if several files were joined. Take out the "
        "mark and the header after it",
        -1);
  }
  if (own_columns_ == 0 || reader.fields() != schema_.names.size()) return true;
  for (size_t i = 0; i < own_columns_; ++i) {
    const std::string& name = schema_.names[i];
    if (!IsLeftOut(name) && reader.field(i) != name) return true;
  }
  return Bad("the row repeats the header, as if several files were joined. Take it out of the file",
             -1);
}

RowDecoder::Outcome RowDecoder::Add(const RecordReader& reader) {
  const bool starts_file = starts_file_[static_cast<uint8_t>(reader.text()[0])];
  if (starts_file && !CheckJoint(reader)) return Outcome::kBad;
  const bool usual = reader.fields() == schema_.names.size() && empty_ < 0;
  if (!usual && !CheckFields(reader)) return Outcome::kBad;
  if (schema_.weight >= 0) {
    if (!DecodeWeight(reader)) return Outcome::kBad;
    // A row with weight 0 is treated as absent, whatever its other values are. For rows that are
    // only evaluated it makes no difference.
    if (weight_ == 0 && role_ != spec::FileRole::kTest) return Outcome::kDropped;
  }
  const bool digits = !sparse_ && type_ == spec::StorageType::kUint8 &&
                      features_.decoded().empty() && features_.rules().plain() &&
                      DecodeDigits(reader);
  if (!digits && !(sparse_ ? DecodeEntries(reader) : DecodeFeatures(reader))) return Outcome::kBad;
  if (!DecodeLabel(reader)) return Outcome::kBad;
  const bool drops = !digits && drops_;
  if (drops && draw_.by_part()) return Outcome::kDropped;  // before the draw counts it
  const bool divides = draw_.active() || deciding_.active();
  const int set = divides ? SetOf(reader, drops) : static_cast<int>(role_);
  if (set < 0) return Outcome::kBad;
  if (drops) return Outcome::kDropped;
  if (set == 0) {
    const auto position = static_cast<uint64_t>(reader.record_offset());
    if (picker_.any()) picker_.Offer(file_, position, sets_[0].rows);
    picker_.Probe(file_, position, sets_[0].rows);
  }
  error_ = Append(&sets_[set], digits);
  return error_.ok() ? Outcome::kRow : Outcome::kFailed;
}

}  // namespace espalier::data
