// Fields of the other sections of a job, and of jobs that score.
//
// Thread rule: constants.
#pragma once

#include <concepts>
#include <type_traits>
#include <variant>

#include "src/spec/field_list.h"
#include "src/spec/job_spec.h"
#include "src/spec/scoring_spec.h"

namespace espalier::spec {

template <>
inline constexpr auto kFields<WorkerRange> = Declare(
    Member(&WorkerRange::min,
           Key("min").Whole(1, 100'000).Doc("Number of workers that the job waits for.")),
    Member(&WorkerRange::max,
           Key("max").Whole(0, 100'000).Doc("Largest number of workers; 0: no limit.")),
    Member(&WorkerRange::cache_input, Key("cache_input")
                                          .TrainingOnly()
                                          .Doc("true: workers keep what they read from HDFS on "
                                               "their disks, and parsed rows in half "
                                               "of their memory, for the next job over the same "
                                               "files. The jobs of a sweep do so by "
                                               "default.")));

template <>
inline constexpr auto kFields<OutputSpec> = Declare(
    Member(&OutputSpec::path,
           Key("path").Path().Doc("Directory of the model, which the job creates.")),
    Member(&OutputSpec::overwrite, Key("overwrite").Doc("true: an existing model is replaced.")));

template <>
inline constexpr auto kFields<CheckpointSpec> = Declare(
    Member(
        &CheckpointSpec::every_steps,
        Key("every_steps")
            .Whole(1, kCountMax)
            .After("every_ms")
            .Example("1000")
            .Doc("Steps between checkpoints, instead of `every`; with both, the first decides.")),
    Member(&CheckpointSpec::every_ms, Key("every_ms")
                                          .Whole(1000, kCountMax)
                                          .Yaml("every")
                                          .Milliseconds()
                                          .Doc("Time between checkpoints.")),
    Member(&CheckpointSpec::keep, Key("keep")
                                      .Whole(1, 1000)
                                      .After("every_steps")
                                      .Doc("Number of checkpoints that are kept.")),
    Member(&CheckpointSpec::asked_for, Key("asked_for").NotInYaml()));

template <>
inline constexpr auto kFields<ResumeSpec> = Declare(
    Member(
        &ResumeSpec::from,
        Key("from").Path().Doc(
            "Output of that run, or its .checkpoints directory: its newest complete checkpoint. "
            "The job must be the same except for name, output, workers and checkpoints. epochs, "
            "steps, max_time and early_stopping may also differ. max_time starts again. With "
            "several fits, some of them finished before a later end, each fit goes on with a new "
            "optimizer state. It keeps its best weights until others are better.")),
    Member(&ResumeSpec::accept_data,
           Key("accept_data").Doc("true: continue although the data has changed.")),
    Member(&ResumeSpec::accept_arithmetic, Key("accept_arithmetic")
                                               .Doc("true: continue although another BLAS or "
                                                    "version computes. model.json records both.")));

template <>
inline constexpr auto kFields<JobSpec> = Declare(
    Member(&JobSpec::name, Key("name").Doc("Name of the job, at most 128 bytes.")),
    Member(&JobSpec::data,
           Key("data").Doc("The table: its files, its columns, and which rows are held out.")),
    Member(&JobSpec::model, Key("model").Doc("The network.")),
    Member(&JobSpec::train, Key("train").Doc("How the model is trained.")),
    Member(&JobSpec::workers, Key("workers").Doc("The workers that the job takes.")),
    Member(&JobSpec::output,
           Key("output").Doc("REQUIRED. `output: PATH` is short for {path: PATH}.")),
    Member(&JobSpec::checkpoint,
           Key("checkpoint")
               .Yaml("train.checkpoint")
               .After("train")
               .Doc("State of the job in OUTPUT.checkpoints, for a start after all workers are "
                    "lost and "
                    "for --resume. none: off. It does not change the model. The checkpoints of a "
                    "successful job are removed, unless the job has this key.")),
    Member(&JobSpec::resume, Key("resume")
                                 .Example("models/job")
                                 .Doc("Continues an earlier run. `resume: RUN` is short for {from: "
                                      "RUN}. By default none.")));

template <>
inline constexpr auto kFields<PredictionSpec> = Declare(
    Member(&PredictionSpec::format, Key("format").Example("parquet").Doc(
                                        "Form of the part files; by default parquet if `output` "
                                        "ends in .parquet, otherwise "
                                        "csv.")),
    Member(&PredictionSpec::keep, Key("keep")
                                      .Later()
                                      .Example("[customer, day]")
                                      .Doc("Columns of the data to copy to the output.")),
    Member(&PredictionSpec::columns,
           Key("columns")
               .Later()
               .Example("prediction")
               .Doc("Classification: the columns to add; by default both.")),
    Member(
        &PredictionSpec::spreadsheet_safe,
        Key("spreadsheet_safe")
            .Later()
            .Doc(
                "true, in CSV: an apostrophe before text that starts with = + - @, a tab or a line "
                "break, which a spreadsheet may run as a formula.")),
    Member(
        &PredictionSpec::on_bad_row,
        Key("on_bad_row")
            .Later()
            .Doc("What happens to a row that cannot be scored. empty: a line without a prediction, "
                 "with the reason in the column `error`, which is empty in other lines; reject: no "
                 "line, and the reason in OUTPUT/_rejects; fail: an error.")),
    Member(&PredictionSpec::rejects_limit,
           Key("rejects_limit")
               .Whole(0, kCountMax)
               .Later()
               .Example("10")
               .Doc("Largest number of rows without a score; by default all rows but one.")));

template <>
inline constexpr auto kFields<EvaluationSpec> = Declare();

// The fields that both kinds of jobs have.
template <>
inline constexpr auto kFields<ScoringSpec> = Declare(
    Member(&ScoringSpec::model, Key("model").Path().Doc("REQUIRED. Directory of a trained model.")),
    Member(
        &ScoringSpec::data,
        Key("data").Path().Doc(
            "REQUIRED. As data.train. Columns are found by name, or by position in files without "
            "a header. A job that evaluates needs the column of the label too.")),
    Member(&ScoringSpec::data_format,
           Key("data_format")
               .Example("parquet")
               .Doc("Form of the data; by default the extension decides.")),
    Member(&ScoringSpec::raw, Key("raw").Later().Doc("As data.raw.")));

// Visits the fields of the section `predict` or `evaluate`: those of both kinds, then those of the
// kind of `s`.
template <typename F, HasFields S>
requires std::same_as<std::remove_const_t<S>, ScoringSpec>
void Fields(F&& f, S& s) {
  kFields<ScoringSpec>([&](const auto& entry) { f(entry.key, s.*entry.pointer); });
  std::visit([&](auto& work) { Fields(f, work); }, s.work);
}

}  // namespace espalier::spec
