// Advice at the end of messages about a table. For a training job, it names keys of the job file. A
// table that a model scores has no job file, so the advice is about the files.
//
// Thread rule: constants and pure functions.
#pragma once

#include <string>

namespace espalier::data {

struct Advice {
  const char* training;
  const char* scoring;
};

namespace advice {

// The form of CSV files.
inline constexpr Advice kWhitespace = {"set data.csv.delimiter: whitespace",
                                       "replace each run by the delimiter of the training's files"};
inline constexpr Advice kDelimiter = {": set data.csv.delimiter",
                                      " as in training. Convert the file"};
inline constexpr Advice kComment = {": set data.csv.comment: \"#\"", ": remove it from the file"};
inline constexpr Advice kNamedTwice = {
    ". Rename one, or set csv.header: false if the first line is data",
    ". Rename one, or add a header if the first line is data"};
inline constexpr Advice kNoName = {
    ". Name them or take them out, or set csv.header: false if the first line is data",
    ". Name them as in training"};
inline constexpr Advice kNoHeader = {
    ". Set data.csv.header: false, and name columns by their positions, counted from 0",
    ". Add a header with the names of the columns, as in training"};
inline constexpr Advice kMultiline = {
    ". Set csv.multiline: true if fields may hold line breaks",
    ". Remove line breaks from the fields, as the model was trained without them"};
inline constexpr Advice kBlanksBefore = {
    ". Remove the blanks from the file, or set data.csv.quote: none if quotes are plain text",
    ". Remove the blanks from the file"};
inline constexpr Advice kEscapedQuote = {
    ". If backslashes escape quotes, as in files of Spark, set data.csv.escape: \"\\\\\"",
    ". If backslashes escape quotes, write two quotes in place of a backslash and a quote"};
inline constexpr Advice kTwoBackslashes = {
    ". Set data.csv.escape: \"\\\\\" if they mean one, as in files of Spark, or data.csv.escape: "
    "none if they mean two",
    ", so its end is ambiguous. Remove the quotes or the backslashes from the field"};
inline constexpr Advice kEscapedDelimiter = {
    ", set data.csv.escape: \"\\\\\", and data.csv.quote: none if no field is quoted",
    ", quote the field instead"};
inline constexpr Advice kExtraField = {
    ". Set data.csv.extra_field: first to leave out the first field, the row names of R, or last "
    "to leave out an empty last one; or quote fields that hold a delimiter",
    ". Remove the field without a name from the file, or quote fields that hold a delimiter"};
inline constexpr Advice kFieldLeftOut = {" (data.csv.extra_field)", ""};
inline constexpr Advice kUnnamedField = {
    ". Name it in the header, or set data.csv.extra_field: none if it is a column",
    ". Name it in the header, or remove it from the file"};

// Other formats.
inline constexpr Advice kZeroBased = {
    ". Set data.libsvm.zero_based: true if they count from 0 in these files: index i is then "
    "column i + 1",
    ", as they did in training. Add 1 to each index if they count from 0 in these files"};
inline constexpr Advice kHighestColumn = {
    ", the highest in data.features.columns. Name all columns there",
    ", the highest that the model uses. Remove higher ones from the file"};
inline constexpr Advice kHighestIndex = {
    ", the highest in data.features.columns. Name all indices there",
    ", the highest that the model uses. Remove higher ones from the file"};
inline constexpr Advice kUnsupported = {". Name the columns to use in data.features.columns",
                                        ". Convert the column"};
inline constexpr Advice kManyElements = {". Name those to use in data.features.columns",
                                         ". Remove some from the files"};
inline constexpr Advice kIsParquet = {
    ". Set data.format: parquet, or name it with .parquet at the end",
    ". Use --data-format parquet (in a job: data_format), or name it with .parquet at the end"};
inline constexpr Advice kIsNamedParquet = {
    ", but data.format is another format. Leave data.format out",
    ", but --data-format is another format. Leave --data-format (in a job: data_format) out"};
inline constexpr Advice kRaw = {", set raw: true", ", use --raw (in a job: raw: true)"};

// Values.
inline constexpr Advice kMissing = {
    ". Choose data.features.nulls: mean, median, drop or {constant: V} to continue without it",
    ", and the model was trained without missing values in this column. Fill it in the data"};
inline constexpr Advice kNotNumber = {
    ". Add words that mean null to data.null_values, choose other columns in "
    "data.features.columns, or make this column a category in data.features.groups",
    " (expected one, like 2.5 or 1e-3)"};
inline constexpr Advice kNotPlain = {
    ". Remove signs and units from the file, or make the column a category in "
    "data.features.groups",
    ". Remove signs and units from the data"};
inline constexpr Advice kOtherForm = {
    ". Set data.csv.decimal and data.csv.thousands to what the numbers of the file have",
    ". Write it in the form that the training's files have"};
inline constexpr Advice kFit = {". Set model.precision: float64 or scale the data",
                                ". Scale it as in the training's files"};
inline constexpr Advice kNullLabel = {". Set data.null_values: [] if it is the name of a class",
                                      " (expected the name or number of a class)"};
inline constexpr Advice kDateForm = {
    ". Correct the format, or add words that mean null to data.null_values", ". Correct the value"};
inline constexpr Advice kNoDate = {
    ". Set date_format for another form, or add words that mean null to data.null_values", ""};

}  // namespace advice

// Returns the message for a row that ends a training job, with advice for any fault.
std::string ForTraining(const std::string& message);
// Returns the message for a table that a model scores, with the advice for scoring.
std::string ForScoring(std::string message);

}  // namespace espalier::data
