// Fields of `train`, except for checkpoints.
//
// Thread rule: constants.
#pragma once

#include "src/spec/conditions.h"
#include "src/spec/field_list.h"
#include "src/spec/job_spec.h"

namespace espalier::spec {

template <>
inline constexpr auto kFields<OptimizerSpec> = Declare(
    Member(&OptimizerSpec::kind, Key("kind").NotInYaml()),
    Member(&OptimizerSpec::learning_rate,
           Key("learning_rate")
               .In(kPositive)
               .Doc("Learning rate of a whole batch. lbfgs: the step that a search tries first.")),
    Member(&OptimizerSpec::momentum,
           Key("momentum")
               .In(kFraction)
               .For(OptimizerKind::kMomentum, OptimizerKind::kNesterov, OptimizerKind::kRmsprop)
               .Doc("Share of the previous update that is added.")),
    Member(&OptimizerSpec::beta1, Key("beta1")
                                      .In(kFraction)
                                      .For(OptimizerKind::kAdam, OptimizerKind::kAdamW)
                                      .Doc("Decay of the mean of gradients.")),
    Member(&OptimizerSpec::beta2, Key("beta2")
                                      .In(kFraction)
                                      .For(OptimizerKind::kAdam, OptimizerKind::kAdamW)
                                      .Doc("Decay of the mean of squared gradients.")),
    Member(&OptimizerSpec::epsilon, Key("epsilon")
                                        .In(kPositive)
                                        .For(OptimizerKind::kAdam, OptimizerKind::kAdamW,
                                             OptimizerKind::kAdagrad, OptimizerKind::kRmsprop)
                                        .Doc("Number that is added to the denominator.")),
    Member(&OptimizerSpec::alpha, Key("alpha")
                                      .In(kFraction)
                                      .For(OptimizerKind::kRmsprop)
                                      .Doc("Decay of the mean of squared gradients.")),
    Member(&OptimizerSpec::centered,
           Key("centered")
               .For(OptimizerKind::kRmsprop)
               .Doc("true: the denominator is the deviation instead of the root mean square.")),
    Member(&OptimizerSpec::initial_accumulator_value,
           Key("initial_accumulator_value")
               .In(kNotNegative)
               .For(OptimizerKind::kAdagrad)
               .Doc("Start of the sums of squared gradients.")),
    Member(&OptimizerSpec::history, Key("history")
                                        .Whole(1, kLbfgsHistoryMax)
                                        .For(OptimizerKind::kLbfgs)
                                        .Doc("Number of steps from which curvature is estimated.")),
    Member(&OptimizerSpec::line_search,
           Key("line_search").For(OptimizerKind::kLbfgs).Doc("How the length of a step is found.")),
    Member(&OptimizerSpec::max_line_search, Key("max_line_search")
                                                .Whole(2, 1000)
                                                .For(OptimizerKind::kLbfgs)
                                                .Doc("Largest number of points of one search.")),
    Member(&OptimizerSpec::tolerance, Key("tolerance")
                                          .In(kNotNegative)
                                          .For(OptimizerKind::kLbfgs)
                                          .Doc("Convergence, as above; 0: almost never.")),
    Member(&OptimizerSpec::max_iterations, Key("max_iterations")
                                               .Whole(1, kCountMax)
                                               .For(OptimizerKind::kLbfgs)
                                               .Doc("Maximum number of iterations.")),
    Member(&OptimizerSpec::step_tolerance,
           Key("step_tolerance")
               .In(kNotNegative)
               .For(OptimizerKind::kGd)
               .Later()
               .Doc("Training ends when an update, except the first, moves the weights by less "
                    "than this "
                    "times their norm, or times 1 if the norm is below 1. 0: never.")));

template <>
inline constexpr auto kFields<Span> = Declare(Member(&Span::amount, Key("amount")),
                                              Member(&Span::epochs, Key("epochs")));

template <>
inline constexpr auto kFields<PlateauRule> = Declare(
    Member(&PlateauRule::metric, Key("metric").Doc("As train.early_stopping.metric.")),
    Member(&PlateauRule::patience,
           Key("patience").Whole(1, 1'000'000'000).Doc("Number of evaluations.")),
    Member(&PlateauRule::min_delta,
           Key("min_delta").In(kNotNegative).Doc("Smallest change that is an improvement.")),
    Member(&PlateauRule::cooldown,
           Key("cooldown")
               .Whole(0, 1'000'000'000)
               .Doc("Number of evaluations after a reduction that do not count.")),
    Member(&PlateauRule::min_learning_rate,
           Key("min_learning_rate").In(kNotNegative).Doc("Lowest learning rate.")));

template <>
inline constexpr auto kFields<ScheduleSpec> = Declare(
    Member(&ScheduleSpec::kind, Key("kind").NotInYaml()),
    Member(&ScheduleSpec::warmup,
           Key("warmup")
               .In(kNotNegative)
               .Doc("Time of linear increase from 0, such as 1 epochs or 100 steps.")),
    Member(&ScheduleSpec::warmup_share,
           Key("warmup_share")
               .In(kFraction)
               .Later()
               .Doc("The same as a share of all steps. Requires epochs or steps.")),
    Member(&ScheduleSpec::every,
           Key("every")
               .For(ScheduleKind::kStep, ScheduleKind::kExponential)
               .Doc("Time between reductions, such as 3 epochs or 100 steps.")),
    Member(&ScheduleSpec::factor,
           Key("factor")
               .In({0, 1, true, false})
               .For(ScheduleKind::kStep, ScheduleKind::kExponential, ScheduleKind::kPlateau)
               .Doc("Factor of a reduction. plateau: below 1.")),
    Member(&ScheduleSpec::final_fraction, Key("final_fraction")
                                              .In({0, 1})
                                              .For(ScheduleKind::kCosine, ScheduleKind::kPolynomial)
                                              .Doc("Rate at the end / rate at the start.")),
    Member(&ScheduleSpec::power, Key("power")
                                     .In(kPositive)
                                     .For(ScheduleKind::kPolynomial)
                                     .Doc("Power of the polynomial; 1 is linear.")),
    Member(&ScheduleSpec::plateau, Key("plateau").For(ScheduleKind::kPlateau).Inlined()));

template <>
inline constexpr auto kFields<RateFactors> = Declare(
    Member(&RateFactors::biases,
           Key("biases")
               .In(kNotNegative)
               .Doc("For the biases of layers, and the gains and shifts of layer norms.")),
    Member(&RateFactors::scaling_layer,
           Key("scaling_layer").In(kNotNegative).Doc("For the factors of model.scaling_layer.")));

template <>
inline constexpr auto kFields<EarlyStopping> = Declare(
    Member(&EarlyStopping::metric,
           Key("metric").Doc(
               "Of validation rows: val_loss; classes: val_accuracy, val_precision, val_recall, "
               "val_f1, val_auc and val_average_precision (two classes); multilabel: also "
               "val_f1_micro and val_f1_macro; numbers: val_rmse, val_mae, val_r2. Of training "
               "rows: the same without val_, as means over an epoch while it trains. precision, "
               "recall and f1 are means over classes or labels, weighted by rows.")),
    Member(
        &EarlyStopping::patience,
        Key("patience").Whole(1, 1'000'000'000).Doc("Number of evaluations without improvement.")),
    Member(&EarlyStopping::min_delta,
           Key("min_delta").In(kNotNegative).Doc("Smallest change that is an improvement.")),
    Member(
        &EarlyStopping::restore_best,
        Key("restore_best")
            .Doc("true: the weights of the best evaluation are saved. false: the last weights.")));

template <>
inline constexpr auto kFields<Averaging> =
    Declare(Member(&Averaging::kind, Key("kind").NotInYaml()),
            Member(&Averaging::decay, Key("decay")
                                          .In(kInsideUnit)
                                          .For(AveragingKind::kEma)
                                          .Doc("Share that the average keeps at an update.")),
            Member(&Averaging::start, Key("start")
                                          .In(kNotNegative)
                                          .For(AveragingKind::kEma, AveragingKind::kMean)
                                          .Doc("Time before the first update that counts.")));

template <>
inline constexpr auto kFields<EnsembleSpec> = Declare(
    Member(&EnsembleSpec::fits, Key("fits").Whole(1, kFitsMax).Doc("Number of fits.")),
    Member(
        &EnsembleSpec::over,
        Key("over").Doc(
            "folds: each fit holds out another part of the training rows, which serves as its "
            "validation rows. Classes keep their shares. seeds: all fits have the same rows, and "
            "differ in their initial weights and the order of rows.")),
    Member(&EnsembleSpec::folds, Key("folds")
                                     .Whole(2, kFoldsMax)
                                     .Example("10")
                                     .Doc("Number of parts of the training rows, with over: folds. "
                                          "By default as many as fits. "
                                          "The fits hold out the first ones.")),
    Member(
        &EnsembleSpec::shrink,
        Key("shrink")
            .Without(Task::kAutoencoder)
            .Doc("true: all predictions are shrunk towards a constant: the shares of the classes, "
                 "or the mean of the target. The weight of the constant minimizes the loss of the "
                 "held-out rows. For small tables.")));

template <>
inline constexpr auto kFields<ThresholdSpec> =
    Declare(Member(&ThresholdSpec::kind, Key("kind").NotInYaml()),
            Member(&ThresholdSpec::min_precision,
                   Key("min_precision")
                       .In(kInsideUnit)
                       .For(ThresholdKind::kRecall)
                       .Doc("Precision that the threshold must have on the held-out rows.")),
            Member(&ThresholdSpec::min_recall,
                   Key("min_recall")
                       .In(kInsideUnit)
                       .For(ThresholdKind::kPrecision)
                       .Doc("Recall that the threshold must have on the held-out rows.")),
            Member(&ThresholdSpec::false_positive,
                   Key("false_positive")
                       .In(kCost)
                       .For(ThresholdKind::kCost)
                       .Doc("Cost of a row of the negative class that is predicted positive.")),
            Member(&ThresholdSpec::false_negative,
                   Key("false_negative")
                       .In(kCost)
                       .For(ThresholdKind::kCost)
                       .Doc("Cost of a row of the positive class that is predicted negative.")));

template <>
inline constexpr auto kFields<ClassWeight> = Declare(Member(&ClassWeight::label, Key("label")),
                                                     Member(&ClassWeight::weight, Key("weight")));

template <>
inline constexpr auto kFields<ClassWeights> = Declare(Member(&ClassWeights::balanced,
                                                             Key("balanced")),
                                                      Member(&ClassWeights::given, Key("given")));

template <>
inline constexpr auto kFields<InitialSpec> = Declare(
    Member(&InitialSpec::from, Key("from").Path().Doc("The model, file or run.")),
    Member(&InitialSpec::layers,
           Key("layers").Doc(
               "Numbers of the layers to take, counted from 0; the output layer is the last. By "
               "default all.")),
    Member(&InitialSpec::spark,
           Key("spark").Doc(
               "true: numbers in Spark's order, from a text file or `values`: for each layer the "
               "matrix of outputs x inputs by columns, then the bias.")),
    Member(&InitialSpec::values,
           Key("values").List("numbers").Doc("The numbers, instead of a file.")),
    Member(
        &InitialSpec::refit_preprocessing,
        Key("refit_preprocessing")
            .Later()
            .Doc(
                "true: scales, categories and classes follow from the data of this job. Categories "
                "and classes must then be those of the model.")));

template <>
inline constexpr auto kFields<TrainSpec> = Declare(
    Member(
        &TrainSpec::mode,
        Key("mode")
            .Without(OptimizerKind::kGd, OptimizerKind::kLbfgs)
            .Because("each update needs all rows at one set of weights")
            .Later()
            .Doc("sync: all workers compute parts of one batch, and the model does not depend on "
                 "their number. async: one worker holds the weights. Each worker takes them, "
                 "computes the gradient of `batch` of its rows and sends it; each gradient is a "
                 "step. Training does not wait for a slow worker, except in evaluations. The "
                 "model then depends on the speed of the workers, and the rows of a slow worker "
                 "count less. If the worker with the weights dies, training continues from the "
                 "newest checkpoint. With async, at most `leaves` workers take part.")),
    Member(&TrainSpec::staleness,
           Key("staleness")
               .With(TrainMode::kAsync)
               .Because("a synchronous step is never stale")
               .Whole(0, kStalenessMax)
               .Later()
               .Example("4")
               .Doc("A gradient is computed again if more steps than this were taken since its "
                    "weights were read. By default twice the number of workers, at least 4.")),
    Member(
        &TrainSpec::optimizer,
        Key("optimizer")
            .Doc("A word, or a word with its settings. gd: gradient descent, one update an epoch "
                 "from all rows, computed `batch` rows at a time. lbfgs: L-BFGS over all rows; "
                 "each point that it evaluates is an epoch. It has converged when the norm of the "
                 "gradient is at most tolerance * objective, or when the objectives of 20 "
                 "iterations differ by at most tolerance * the first one. weight_decay and l1 are "
                 "part of the objective; with l1, a search may end early where a weight is 0. "
                 "Metrics and evaluations are those of the start and of the end of each "
                 "iteration. lbfgs ignores data.shuffle.")),
    Member(&TrainSpec::schedule,
           Key("schedule")
               .Without(OptimizerKind::kLbfgs)
               .Because("lbfgs chooses its steps itself")
               .Doc("Learning rate over time. step: multiplied by `factor` after each `every`. "
                    "exponential: the same, evenly spread. cosine and polynomial: from the start "
                    "to the "
                    "end of training. plateau: multiplied by `factor` after `patience` evaluations "
                    "without improvement.")),
    Member(
        &TrainSpec::batch,
        Key("batch")
            .Whole(0, 1 << 30)
            .ReadByHand()
            .Doc(
                "Rows of a step, over all workers; with mode async, of one worker. 8192 by default "
                "with gd and lbfgs. auto: 32 for fewer than 500 training rows, 64 below 2,000, 128 "
                "below 8,000, 256 below 30,000; from there on the power of two next to rows / 240, "
                "from 512 to 8192.")),
    Member(&TrainSpec::leaves,
           Key("leaves").Whole(1, 1024).Absent("auto").Doc(
               "Number of parts of a batch. At most that many workers share a step. The model "
               "depends on it, and not on the number of workers. auto: batch / 64, rounded down "
               "to a power of two; with mode async at least 16, or `batch` if that is less.")),
    Member(&TrainSpec::epochs,
           Key("epochs").In({0, 1e9}).ReadByHand().Doc(
               "Maximum number of epochs of each fit; may be a fraction, such as 0.5. By default "
               "10, if neither steps nor max_time is set. auto: 100 for fewer than 2,000 training "
               "rows, 24 below 8,000, 16 below 200,000, 8 below 1,000,000, 6 above; half of that "
               "with preset: fast.")),
    Member(&TrainSpec::steps, Key("steps")
                                  .Whole(1, kCountMax)
                                  .Example("1000")
                                  .Doc("Maximum number of steps of each fit.")),
    Member(&TrainSpec::max_time_ms, Key("max_time_ms")
                                        .Whole(1, kCountMax)
                                        .Yaml("max_time")
                                        .Milliseconds()
                                        .Example("30 min")
                                        .Doc("Maximum time of the training; ms, s, min, h or d.")),
    Member(&TrainSpec::early_stopping,
           Key("early_stopping")
               .Example("{metric: val_loss, patience: 10}")
               .Doc("Ends training when a metric stops improving. By default off.")),
    Member(&TrainSpec::weight_decay, Key("weight_decay")
                                         .In(kNotNegative)
                                         .Doc("adamw: decoupled. Other optimizers: an L2 penalty "
                                              "of weight_decay / 2 * |W|^2 next "
                                              "to the mean loss. scikit-learn's alpha is this "
                                              "number times the rows of a batch.")),
    Member(
        &TrainSpec::l1,
        Key("l1")
            .In(kNotNegative)
            .Doc(
                "L1 penalty: this number times the sign of each weight is added to the gradient.")),
    Member(
        &TrainSpec::decay_biases,
        Key("decay_biases").Doc("true: weight_decay and l1 also apply to biases and layer norms.")),
    Member(
        &TrainSpec::weight_decay_schedule,
        Key("weight_decay_schedule")
            .Without(OptimizerKind::kLbfgs)
            .Later()
            .Doc("flat_cos: weight_decay is constant over the first half of the training and then "
                 "falls to 0 along half a cosine. Requires epochs or steps.")),
    Member(&TrainSpec::rate_factors, Key("rate_factors")
                                         .Without(OptimizerKind::kLbfgs)
                                         .Because("lbfgs chooses its steps itself")
                                         .Later()
                                         .Example("{biases: 0.1}")
                                         .Doc("Multiples of the learning rate.")),
    Member(&TrainSpec::rate_by_batch,
           Key("rate_by_batch")
               .Without(OptimizerKind::kLbfgs)
               .Because("lbfgs chooses its steps itself")
               .Later()
               .Doc("sqrt: the learning rate times sqrt(batch / 256), of batches above 256.")),
    Member(&TrainSpec::clip_norm,
           Key("clip_norm")
               .Without(OptimizerKind::kLbfgs)
               .Because("lbfgs chooses its steps itself")
               .In(kNotNegative)
               .Doc("Largest norm of the gradient; 0: no limit. It is applied before clip_value.")),
    Member(&TrainSpec::clip_value,
           Key("clip_value")
               .Without(OptimizerKind::kLbfgs)
               .Because("lbfgs chooses its steps itself")
               .In(kNotNegative)
               .Doc("Largest size of each element of the gradient; 0: no limit.")),
    Member(
        &TrainSpec::accumulate_steps,
        Key("accumulate_steps")
            .Without(OptimizerKind::kGd, OptimizerKind::kLbfgs)
            .Because("each update takes a whole epoch")
            .Without(TrainMode::kAsync)
            .Because("each gradient is applied at once; raise train.batch instead")
            .Whole(1, kCountMax)
            .Doc("Number of steps whose gradients make one update. The last update of an epoch may "
                 "have fewer.")),
    Member(&TrainSpec::averaging,
           Key("averaging")
               .Without(OptimizerKind::kLbfgs)
               .After("intervals")
               .Doc("Averages of the weights after each update, which are evaluated and saved "
                    "instead of "
                    "the last weights. ema: an exponential average. mean: the mean of all.")),
    Member(&TrainSpec::ensemble, Key("ensemble")
                                     .Later()
                                     .Example("{fits: 5, over: folds}")
                                     .Doc("Several fits of the same network, one after another. "
                                          "The model averages their predictions. By default "
                                          "one.")),
    Member(
        &TrainSpec::calibrate,
        Key("calibrate")
            .With(Task::kClassification, Task::kMultilabel)
            .Without(OptimizerKind::kGd, OptimizerKind::kLbfgs)
            .Without(TrainMode::kAsync)
            .Later()
            .Doc("true: the outputs are divided by the temperature that minimizes the loss of the "
                 "held-out rows. Requires validation rows or folds.")),
    Member(
        &TrainSpec::threshold,
        Key("threshold")
            .With(Loss::kSoftmaxCrossEntropy)
            .Without(OptimizerKind::kGd, OptimizerKind::kLbfgs)
            .Without(TrainMode::kAsync)
            .Later()
            .Example("f1")
            .Doc("Two classes: uses the held-out rows to choose the threshold of the probability "
                 "above which model.positive is predicted. accuracy, f1: the highest one. recall, "
                 "precision: the highest recall with at least min_precision, or the highest "
                 "precision with at least min_recall. cost: the lowest mean cost per row. "
                 "Requires validation rows or folds. none: model.thresholds decides.")),
    Member(&TrainSpec::intervals,
           Key("intervals")
               .With(Task::kRegression)
               .Without(OptimizerKind::kGd, OptimizerKind::kLbfgs)
               .Without(TrainMode::kAsync)
               .In(kFraction)
               .Later()
               .Example("0.9")
               .Doc("Share of rows that prediction intervals contain. Their half-width is this "
                    "quantile of the absolute residuals of the held-out rows (split conformal "
                    "prediction). predict writes them as lower_TARGET and upper_TARGET. 0: no "
                    "intervals.")),
    Member(
        &TrainSpec::class_weight,
        Key("class_weight")
            .With(Task::kClassification, Task::kMultilabel)
            .Because("data.weight is for rows")
            .Doc(
                "Weights of classes, in addition to data.weight and in training only. balanced: "
                "rows "
                "/ (classes * rows of the class). A map such as {no: 1, yes: 5}: 1 for labels that "
                "are not in it. multilabel: the weight of a 1 of each label (PyTorch's "
                "pos_weight), "
                "such as {spam: 3}; balanced is rows with 0 / rows with 1, from 0.001 to 1000.")),
    Member(
        &TrainSpec::initial,
        Key("initial")
            .Example("models/old")
            .Doc(
                "Initial weights: a model, a safetensors file with these tensors, or a checkpoint "
                "of "
                "another run, of a network with the same layers. A run (OUTPUT.checkpoints) means "
                "its newest checkpoint. Scales, categories and classes of a model or run are kept. "
                "New categories and classes of a model get fresh weights; a run cannot get new "
                "ones. "
                "A model or run must have the same columns in the same order. By default "
                "train.seed "
                "draws the weights.")),
    Member(
        &TrainSpec::frozen,
        Key("frozen").Doc("Numbers of the layers that keep their start weights, such as [0, 1].")),
    Member(
        &TrainSpec::skip_nonfinite,
        Key("skip_nonfinite")
            .Words("fail", "skip")
            .Without(OptimizerKind::kLbfgs)
            .Because("its line search already steps back from these points")
            .Yaml("on_nonfinite")
            .ReadByHand()
            .Doc("What to do with a step whose loss or gradient is not finite. fail: the job ends, "
                 "also when the loss of validation rows is not a number. skip: the step is left "
                 "out.")),
    Member(&TrainSpec::seed,
           Key("seed").Doc("Seed of weights, dropout, shuffle and validation; 0 to 2^64 - 1.")));

}  // namespace espalier::spec
