// Fields of `data`: input files, columns and validation rows.
//
// Thread rule: constants.
#pragma once

#include "src/spec/conditions.h"
#include "src/spec/field_list.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::spec {

template <>
inline constexpr auto kFields<ColumnRange> = Declare(Member(&ColumnRange::first, Key("first")),
                                                     Member(&ColumnRange::last, Key("last")));

template <>
inline constexpr auto kFields<CsvOptions> = Declare(
    Member(&CsvOptions::header,
           Key("header").Doc("true: the first line of each file names the columns.")),
    Member(&CsvOptions::delimiter,
           Key("delimiter")
               .NoCharacter("whitespace")
               .Doc("One character, such as \"\\t\" for tabs or \"\\x01\" for Hive's text tables. "
                    "whitespace: runs of blanks and tabs.")),
    Member(&CsvOptions::quote,
           Key("quote").NoCharacter("none").Doc("The character around fields that contain a "
                                                "delimiter. Blanks before an opening quote make "
                                                "a bad row. none: quotes are plain text.")),
    Member(&CsvOptions::multiline, Key("multiline")
                                       .Doc("true: quoted fields may contain line breaks. Each "
                                            "file is then read by one worker.")),
    Member(&CsvOptions::decimal,
           Key("decimal").Later().Example("\",\"").Doc(
               "Decimal sign of numbers: a point, the default, or a comma, as in 28,7.")),
    Member(&CsvOptions::thousands,
           Key("thousands")
               .Later()
               .Example("\".\"")
               .Doc("Character between groups of three digits, as in 1.234,5: a comma, a point, an "
                    "underscore, an apostrophe or a blank. A blank also means no-break spaces. By "
                    "default there is none.")),
    Member(
        &CsvOptions::escape,
        Key("escape")
            .NoCharacter("none")
            .Later()
            .Example("\"\\\\\"")
            .Doc(
                "Character before a quote inside a quoted field, as Spark writes it; twice, it "
                "means "
                "itself. With `quote: none`, it also makes a delimiter plain text, as in Hive and "
                "MySQL. By default a quote inside a quoted field is written twice. none: the same, "
                "and a field may end in two backslashes.")),
    Member(&CsvOptions::comment,
           Key("comment").Later().Example("\"#\"").Doc(
               "Lines that start with this character are left out. By default there are none.")),
    Member(
        &CsvOptions::extra_field,
        Key("extra_field")
            .Later()
            .Doc(
                "Which field is left out where rows have one field more than the header has names. "
                "last: the empty field after a delimiter at the end of each line. first: the row "
                "names of R. auto: last if it is empty in the first rows, otherwise first. none: "
                "these rows are bad rows. Without a header, auto leaves out a last field that is "
                "empty in the first rows.")));

template <>
inline constexpr auto kFields<LibsvmOptions> = Declare(Member(
    &LibsvmOptions::zero_based,
    Key("zero_based")
        .Doc("true: indices count from 0, so index i is column i + 1, and column 1 is the first "
             "feature. An index 0 is an error otherwise.")));

template <>
inline constexpr auto kFields<Scale> = Declare(Member(&Scale::kind, Key("kind")),
                                               Member(&Scale::divisor, Key("divisor")));

template <>
inline constexpr auto kFields<NullPolicy> = Declare(Member(&NullPolicy::kind, Key("kind")),
                                                    Member(&NullPolicy::constant, Key("constant")));

template <>
inline constexpr auto kFields<FeatureGroup> = Declare(
    Member(&FeatureGroup::columns, Key("columns").Doc("As data.features.columns, without auto.")),
    Member(&FeatureGroup::type,
           Key("type").Doc(
               "boolean: true, false, yes, no, 1, 0. date: text such as 2024-02-29, 2024/02/29, "
               "29.02.2024, 2024-02-29 23:59:58 or 20240229T235958, with Z, UTC or an offset after "
               "the time or without one; Parquet's dates and timestamps; or numbers: 20240229 is "
               "that day and 202402 that month (years 1900 to 2199), other numbers are seconds "
               "since 1970. A column whose dates are all in 1970 is an error. categorical: text or "
               "whole numbers. Blanks at both ends are removed, and 1.0 equals 1. Parquet's dates "
               "are text such as 2024-02-29, its timestamps text such as 2024-02-29 23:59:58.5 in "
               "UTC.")),
    Member(&FeatureGroup::scale,
           Key("scale")
               .Without(FeatureType::kCategorical)
               .Example("minmax")
               .Doc("By default data.features.scale; categories are not scaled.")),
    Member(&FeatureGroup::nulls,
           Key("nulls").Example("mean").Doc(
               "By default data.features.nulls. category, the default of categorical columns: null "
               "is a value.")),
    Member(&FeatureGroup::null_indicator,
           Key("null_indicator")
               .Without(FeatureType::kCategorical)
               .Because("with `nulls: category` null is a category")
               .Without(Task::kAutoencoder)
               .Doc("true: one more input, 1 where the value is null and 0 elsewhere.")),
    Member(&FeatureGroup::log1p, Key("log1p")
                                     .With(FeatureType::kNumeric)
                                     .Without(Task::kAutoencoder)
                                     .Doc("true: log(1 + x) instead of x.")),
    Member(&FeatureGroup::parts,
           Key("parts").Doc(
               "Numbers to take from a date, in UTC. weekday: 0 (Monday) to 6. yearday: 1 to 366. "
               "epoch: seconds since 1970.")),
    Member(
        &FeatureGroup::date_format,
        Key("date_format")
            .With(FeatureType::kDate, FeatureType::kCategorical)
            .Later()
            .Example("\"%m/%d/%Y\"")
            .Doc(
                "How dates are written, as data.features.date_format, which is the default. Has no "
                "effect on categories.")),
    Member(&FeatureGroup::embedding, Key("embedding")
                                         .Whole(0, kEmbeddingMax)
                                         .With(FeatureType::kCategorical)
                                         .Yaml("encode")
                                         .ReadByHand()
                                         .Example("{embedding: 8}")
                                         .Doc("Encoding of a category. one_hot, the default: one "
                                              "input per value. {embedding: 8}: "
                                              "8 trained numbers per value.")),
    Member(
        &FeatureGroup::hash,
        Key("hash")
            .With(FeatureType::kCategorical)
            .Whole(0, kCodesMax)
            .Doc("Number of buckets that the values of a category are hashed to, for columns with "
                 "any "
                 "number of values. 0: each value has its own code, for at most 10,000 values, or "
                 "1,000,000 if min_count leaves 10,000.")),
    Member(
        &FeatureGroup::min_count,
        Key("min_count")
            .With(FeatureType::kCategorical)
            .Whole(1, kCountMax)
            .Doc("Values in fewer training rows than this share one code. Unseen values have that "
                 "code too, or none if every training value is more frequent.")),
    Member(&FeatureGroup::one_hot_max,
           Key("one_hot_max")
               .With(FeatureType::kCategorical)
               .Whole(0, kCountMax)
               .Later()
               .Doc("A column of at most this number of values, without null, is one-hot with all "
                    "of its "
                    "values, although the group has an embedding. 0: no column.")),
    Member(&FeatureGroup::zero_rare,
           Key("zero_rare")
               .With(FeatureType::kCategorical)
               .Later()
               .Doc("true: rare values, null and unseen values have no code, and their inputs are "
                    "0. In "
                    "a column without a frequent value, all rows share one code.")));

template <>
inline constexpr auto kFields<CategoryOptions> = Declare(
    Member(&CategoryOptions::embedding, Key("embedding")
                                            .Whole(0, kEmbeddingMax)
                                            .Yaml("encode")
                                            .ReadByHand()
                                            .Example("{embedding: 8}")
                                            .Doc("As in groups.")),
    Member(&CategoryOptions::hash, Key("hash").Whole(0, kCodesMax).Doc("As in groups.")),
    Member(&CategoryOptions::min_count, Key("min_count").Whole(1, kCountMax).Doc("As in groups.")),
    Member(&CategoryOptions::one_hot_max,
           Key("one_hot_max").Whole(0, kCountMax).Doc("As in groups.")),
    Member(&CategoryOptions::zero_rare, Key("zero_rare").Doc("As in groups.")));

template <>
inline constexpr auto kFields<NumberOptions> = Declare(
    Member(
        &NumberOptions::embedding,
        Key("embedding")
            .Without(Task::kAutoencoder)
            .Doc("piecewise_linear: trained inputs of each number that are linear over each bin of "
                 "its values.")),
    Member(&NumberOptions::width,
           Key("width").Whole(1, kNumberWidthMax).Doc("Inputs of one number.")),
    Member(&NumberOptions::bins,
           Key("bins")
               .Whole(2, kBinsMax)
               .Doc("Largest number of bins of one column. A column of few values has an edge at "
                    "each. In other columns, each value with more rows than a bin is an edge, and "
                    "the other rows are cut at equal counts. The edges follow from a sample of "
                    "65,536 training rows, which depends on the data alone; with more than 32 "
                    "numbers from fewer rows, 16 MiB in all.")));

template <>
inline constexpr auto kFields<FeatureSpec> = Declare(
    Member(
        &FeatureSpec::columns,
        Key("columns").ReadByHand().Doc(
            "auto: all columns except label, weight and validation column. The rows decide what "
            "a column without a group holds, by its values that are not null: it is numeric when "
            "at least half of them are numbers; a date when at least half are dates, or all are "
            "numbers such as 202402 or 20240229; a boolean when all are; otherwise a one-hot "
            "category. In Parquet, date and timestamp columns are dates, and other columns "
            "except text are numeric. Whole numbers are numeric; name them in a group to make "
            "them categories. These columns are left out: text that differs in at least 95 % of "
            "50 values or more; an unnamed column that numbers the rows; the index of a pandas "
            "frame; and, in tables of at least 10 rows, a column that is empty or constant. "
            "Numbers such as 28,7, 1,234, $5, 12%, 5kg or (5) and dates such as 02/03/2024 are "
            "an error that names the keys to set. `check`, `train`, `submit` and `status` show "
            "the result, and model.json keeps it. Or names, positions and ranges such as "
            "\"1..784\" (inclusive), one or a list: these columns are numeric. Whole numbers "
            "above 2^53 become the nearest double.")),
    Member(
        &FeatureSpec::scale,
        Key("scale").Doc(
            "Scaling of numeric inputs. robust: (x - median) / (upper quartile - lower "
            "quartile), from a sample of 4,096 rows; with more than 16 of these columns from "
            "fewer rows, but at least 1,024 up to 4,096 columns. {divide: 255}: x / 255. "
            "robust_smooth_clip: z / sqrt(1 + (z / 3)^2), with z as for robust; it is between -3 "
            "and 3. Equal quartiles are replaced by half the range.")),
    Member(
        &FeatureSpec::nulls,
        Key("nulls").Doc(
            "What a missing value means: an empty field, a word of data.null_values, or a usual "
            "word for null, such as NA, N/A, NaN, NULL, None, NaT, ?, - or Hive's \\N. In a "
            "category only the empty field, \\N and data.null_values are missing. fail: the row "
            "is bad. mean: the mean of the column. median: its median, from the sample of scale: "
            "robust. drop: the row is left out. {constant: 0}: that number.")),
    Member(
        &FeatureSpec::groups,
        Key("groups")
            .Items(kListMax)
            .Example("[{columns: [age, income], log1p: true}]")
            .Doc("Columns with settings that differ from the ones above. They are features too.")),
    Member(
        &FeatureSpec::exclude,
        Key("exclude")
            .Later()
            .After("scale")
            .Example("[id_*, 12]")
            .Doc("Columns that are not features: names, positions, ranges, and names with * and ?. "
                 "Each entry must match a column.")),
    Member(
        &FeatureSpec::date_format,
        Key("date_format")
            .Later()
            .After("exclude")
            .Example("\"%d/%m/%Y %H:%M\"")
            .Doc(
                "How text and numbers of dates are written, for groups without date_format and for "
                "auto. Directives: %Y %y %m %d %j %b %B %H %I %M %S %f %p %z %Z %a %A %F %T %%. "
                "auto, the default: see type: date.")),
    Member(&FeatureSpec::numbers,
           Key("numbers")
               .Later()
               .After("categories")
               .Example("{embedding: piecewise_linear}")
               .Doc("How the network reads all features except categories.")),
    Member(&FeatureSpec::null_indicators, Key("null_indicators")
                                              .Without(Task::kAutoencoder)
                                              .Later()
                                              .Doc("true: a number without a group that is null in "
                                                   "a training row gets one more input: "
                                                   "1 where the value is null, 0 elsewhere. "
                                                   "Requires nulls: mean, median or {constant: "
                                                   "0}.")),
    Member(&FeatureSpec::categories,
           Key("categories")
               .Later()
               .Example("{encode: {embedding: 8}, min_count: 30}")
               .Doc("Encoding of categorical columns without a group, with the keys of groups.")));

template <>
inline constexpr auto kFields<ValidationSpec> = Declare(
    Member(&ValidationSpec::fraction,
           Key("fraction")
               .In(kFraction)
               .Doc("Share of the training rows, chosen by a seed, or the latest rows by `time`.")),
    Member(&ValidationSpec::stratify, Key("stratify")
                                          .Doc("true: the fraction or the fold has the same share "
                                               "of each class, or of each stratum "
                                               "of a number (`strata`), except for at most one row "
                                               "in each MiB of text or row group "
                                               "of Parquet.")),
    Member(&ValidationSpec::column,
           Key("column").Example("is_val").Doc(
               "Validation rows are those where this column is true or 1.")),
    Member(&ValidationSpec::files,
           Key("files").Path().Doc("Separate files of validation rows, as data.train.")),
    Member(&ValidationSpec::fold,
           Key("fold").Example("0").Doc("Number of the part that is held out, counted from 0.")),
    Member(&ValidationSpec::of,
           Key("of").Whole(2, 1000).Example("5").Doc("Number of parts. With `fold`.")),
    Member(&ValidationSpec::exact,
           Key("exact").Later().After("strata").Doc(
               "true: the fraction or the fold has its share of the rows, except for at most one "
               "row in each MiB of text or row group of Parquet. false: each row is drawn "
               "separately.")),
    Member(&ValidationSpec::seed,
           Key("seed").Later().Example("1").Doc(
               "Seed of the fraction or the fold. With it, jobs of different train.seed have the "
               "same validation rows. By default train.seed.")),
    Member(
        &ValidationSpec::group,
        Key("group")
            .Later()
            .Example("customer")
            .Doc(
                "Column of groups, such as customers. The fraction or the fold takes whole groups. "
                "`features: auto` leaves the column out.")),
    Member(&ValidationSpec::time,
           Key("time").Later().Example("day").Doc(
               "Column of dates or numbers that order the rows in time. The fraction takes the "
               "latest rows. Folds are consecutive intervals of time. `features: auto` leaves the "
               "column out.")),
    Member(
        &ValidationSpec::from,
        Key("from")
            .Later()
            .Example("1704067200")
            .Doc("With `time`: validation rows begin here, in seconds since 1970 or as the number "
                 "of "
                 "the column. With `group`: as a hash from 0 to 1. By default the profiling pass "
                 "finds it.")),
    Member(
        &ValidationSpec::to,
        Key("to").Later().Example("1735689600").Doc("Validation rows end before this, as `from`.")),
    Member(&ValidationSpec::strata, Key("strata")
                                        .Items(kStrataMax)
                                        .Later()
                                        .After("stratify")
                                        .Example("[10, 20, 50]")
                                        .Doc("Regression with `stratify`: bounds between the "
                                             "strata of the label. By default the "
                                             "deciles of a sample of the rows.")));

template <>
inline constexpr auto kFields<BadRows> = Declare(
    Member(&BadRows::skip,
           Key("skip").Yaml("policy").ReadByHand().Doc(
               "fail: the first bad row ends the job. skip: it is left out, with the lines up to "
               "the closing quote of a field that is open at the end of its line, if these are at "
               "most 64 KiB.")),
    Member(
        &BadRows::limit,
        Key("limit").ReadByHand().Doc(
            "REQUIRED with skip. Number of bad rows, over all files, above which the job fails.")));

template <>
inline constexpr auto kFields<Shuffle> =
    Declare(Member(&Shuffle::kind, Key("kind")),
            Member(&Shuffle::window_rows,
                   Key("window_rows").Whole(8, kCountMax).For(ShuffleKind::kWindow).Body()));

template <>
inline constexpr auto kFields<DataSpec> = Declare(
    Member(
        &DataSpec::train,
        Key("train").Path().Doc(
            "REQUIRED. Input of the training rows: a file, a pattern, a directory, or a list of "
            "these. Paths are local or start with hdfs://. Files in Hive partition directories "
            "(`name=value`) are read too; each partition name is a column, after the columns of "
            "the file. All files need the same partition names. A directory's value replaces the "
            "value in the file. LIBSVM text has no partition columns. A file next to its "
            "compressed copy is an error.")),
    Member(&DataSpec::test,
           Key("test").Path().Doc("Input of rows for the final evaluation only, as data.train.")),
    Member(
        &DataSpec::format,
        Key("format").Example("csv").Doc(
            "By default, the extension of a file decides: .parquet; .csv, .libsvm, .svm, .json, "
            ".jsonl and .ndjson, each also with .gz, .zst, .bz2, .xz, .lz4 or .snappy. Other "
            "files are CSV. JSON files have one object on each line; its keys are the columns. In "
            "Parquet, a "
            "list of numbers `v` is the features v[0], v[1] and so on, and so is a Spark vector, "
            "dense or sparse; `columns: v` selects all of them. The field b of a struct a, or of "
            "an object a in JSON, is the column a.b. In LIBSVM text, column 0 is the label and "
            "column i is the feature with "
            "index i; `features: \"1..784\"` selects 784 of them. In wide rows that are mostly "
            "0, zeros take no memory and no time, unless the job has embedded numbers or a "
            "scaling layer, as with `preset: good`.")),
    Member(&DataSpec::csv, Key("csv").Doc("The form of CSV files.")),
    Member(&DataSpec::libsvm,
           Key("libsvm").Later().Example("{zero_based: true}").Doc("The form of LIBSVM text.")),
    Member(
        &DataSpec::label,
        Key("label").Items(1024).Doc(
            "REQUIRED, except for task autoencoder. Column to predict: a name, or a position "
            "counted from 0. A regression may have several. A multilabel job has several, each 0 "
            "or 1, true or false, yes or no.")),
    Member(
        &DataSpec::weight,
        Key("weight").Example("w").Doc(
            "Column of row weights, each at least 0. A training row of weight 0 is left out. "
            "With precision float32, a weight above 0 is at least 1.2e-38. By default, every row "
            "weighs 1.")),
    Member(&DataSpec::features,
           Key("features")
               .Doc("The columns that the model uses, and how. `features: \"1..784\"` is short for "
                    "{columns: \"1..784\"}.")),
    Member(
        &DataSpec::validation,
        Key("validation")
            .Doc("Rows to evaluate during training: a fraction, a column, files or a fold, also by "
                 "group or by time. none: all rows are for training.")),
    Member(&DataSpec::bad_rows, Key("bad_rows").Doc("What to do with a row that cannot be read.")),
    Member(
        &DataSpec::null_values,
        Key("null_values")
            .Later()
            .Example("[unknown, -999]")
            .Doc("Text and numbers that mean null in all columns, in addition to the usual words. "
                 "The "
                 "label of a class is missing if it is one of these; without this key, if it is a "
                 "usual word for null. [] makes NA and None names of classes.")),
    Member(&DataSpec::shuffle,
           Key("shuffle").Doc(
               "Order of the rows in each epoch. full: a random order of all rows. {window: "
               "100000}: random within windows of that many rows, for tables that exceed the "
               "memory.")),
    Member(&DataSpec::shard_bytes, Key("shard_bytes")
                                       .Bytes()
                                       .Whole(1 << 10, 1 << 30)
                                       .Doc("Size of the parts that files are read in.")),
    Member(
        &DataSpec::raw,
        Key("raw").Later().Doc(
            "true: read every file of a Delta, Hudi, Iceberg or ACID Hive table, also those with "
            "deleted or replaced rows. By default, these tables are refused.")));

}  // namespace espalier::spec
