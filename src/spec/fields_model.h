// Fields of `model`.
//
// Thread rule: constants.
#pragma once

#include "src/spec/conditions.h"
#include "src/spec/field_list.h"
#include "src/spec/job_spec.h"

namespace espalier::spec {

template <>
inline constexpr auto kFields<PredictedCost> = Declare(Member(&PredictedCost::predicted,
                                                              Key("predicted")),
                                                       Member(&PredictedCost::cost, Key("cost")));

template <>
inline constexpr auto kFields<ClassCosts> = Declare(Member(&ClassCosts::label, Key("label")),
                                                    Member(&ClassCosts::costs, Key("costs")));

template <>
inline constexpr auto kFields<DecisionCosts> = Declare(Member(&DecisionCosts::given, Key("given")));

template <>
inline constexpr auto kFields<ModelSpec> = Declare(
    Member(&ModelSpec::task,
           Key("task").Doc(
               "multilabel: several labels per row. autoencoder: the model returns its numeric "
               "features. Job files with a preset may say auto, or nothing. Then labels of text, "
               "truth values and at most 20 different whole numbers mean classification; other "
               "numbers mean regression. `check` and `train` print the choice.")),
    Member(&ModelSpec::hidden, Key("hidden")
                                   .Items(64)
                                   .Whole(1, 65536)
                                   .List("layer widths, such as [256, 256]")
                                   .Doc("Widths of the hidden layers, such as [256, 256]. Without "
                                        "any, the model is linear.")),
    Member(&ModelSpec::activation,
           Key("activation").Doc("One for all hidden layers, or a list with one for each.")),
    Member(&ModelSpec::dropout,
           Key("dropout")
               .Without(OptimizerKind::kLbfgs)
               .Because("a loss that changes between evaluations cannot be searched")
               .In(kFraction)
               .Doc("Share of hidden units that are switched off at random. One for all hidden "
                    "layers, or a list with one for each.")),
    Member(&ModelSpec::layer_norm,
           Key("layer_norm")
               .Doc("true: the sums of each hidden layer are normalized before the activation.")),
    Member(
        &ModelSpec::residual,
        Key("residual")
            .Doc("true: a hidden layer that is as wide as the previous one adds its input to its "
                 "output.")),
    Member(
        &ModelSpec::loss,
        Key("loss")
            .ReadByHand()
            .Example("{huber: {delta: 1}}")
            .Doc("By default softmax_cross_entropy for classification, binary_cross_entropy for "
                 "multilabel, mse for regression and autoencoder. Classification also takes "
                 "binary_cross_entropy; autoencoder mae and huber; regression mae, huber, poisson "
                 "(for counts: the prediction is exp of the output) and quantile. The loss of a "
                 "regression is that of scaled targets (target_scale); the loss of an autoencoder "
                 "is "
                 "that of scaled features.")),
    Member(&ModelSpec::label_smoothing,
           Key("label_smoothing")
               .In(kFraction)
               .Yaml("loss.*.label_smoothing")
               .ReadByHand()
               .Doc("Share of each label that is spread evenly over all classes.")),
    Member(
        &ModelSpec::huber_delta,
        Key("huber_delta")
            .In(kPositive)
            .Yaml("loss.huber.delta")
            .ReadByHand()
            .Doc(
                "Error above which the loss is linear, in standard deviations of the target unless "
                "target_scale is none.")),
    Member(&ModelSpec::quantile, Key("quantile")
                                     .In(kInsideUnit)
                                     .Yaml("loss.quantile.quantile")
                                     .ReadByHand()
                                     .Doc("The quantile to predict.")),
    Member(
        &ModelSpec::init,
        Key("init").Example("he").Doc(
            "Initial weights. By default he for relu, leaky_relu, elu, gelu and silu, xavier for "
            "the other activations.")),
    Member(&ModelSpec::precision, Key("precision").Doc("Type of weights and computation.")),
    Member(&ModelSpec::target_scale,
           Key("target_scale")
               .Without(Task::kMultilabel, Task::kAutoencoder)
               .Because("it is for task regression")
               .Example("standard")
               .Doc("standard, the default: targets have mean 0 and deviation 1 in training, and "
                    "predictions are scaled back. none: for loss poisson, which requires it.")),
    Member(&ModelSpec::thresholds,
           Key("thresholds")
               .List("numbers, one per class")
               .Doc("softmax_cross_entropy: one number per class. The class with the largest "
                    "probability "
                    "/ threshold is predicted. By default the most probable one.")),
    Member(&ModelSpec::expected_inputs, Key("expected_inputs")
                                            .Yaml("inputs")
                                            .Whole(1, kCountMax)
                                            .Example("784")
                                            .Doc("Number of inputs that the data must give. The "
                                                 "job is refused otherwise. By default "
                                                 "any.")),
    Member(&ModelSpec::expected_outputs, Key("expected_outputs")
                                             .Yaml("outputs")
                                             .Whole(1, kCountMax)
                                             .Example("10")
                                             .Doc("Number of classes or targets that the data must "
                                                  "give. The job is refused otherwise. "
                                                  "By default any.")),
    Member(&ModelSpec::parametrization,
           Key("parametrization")
               .Without(OptimizerKind::kLbfgs)
               .Later()
               .After("init")
               .Doc("ntp: each layer computes W x / sqrt(inputs) + b. W and embeddings start with "
                    "variance 1, whatever `init` is. The model stores W / sqrt(inputs).")),
    Member(
        &ModelSpec::scaling_layer,
        Key("scaling_layer")
            .Later()
            .After("parametrization")
            .Doc("true: each input of the first layer is multiplied by a trained factor, 1 at the "
                 "start.")),
    Member(&ModelSpec::cap_label_smoothing,
           Key("cap_label_smoothing")
               .With(Task::kClassification)
               .Later()
               .After("scaling_layer")
               .Doc("true: label_smoothing is at most the share of the rarest class.")),
    Member(&ModelSpec::clip_predictions,
           Key("clip_predictions")
               .With(Task::kRegression)
               .Later()
               .After("start_at_constant")
               .Doc("true: predictions stay within the range of the training targets. Metrics use "
                    "these predictions, but the loss does not.")),
    Member(
        &ModelSpec::start_at_constant,
        Key("start_at_constant")
            .With(Task::kRegression)
            .Later()
            .After("cap_label_smoothing")
            .Doc("true: training begins with the constant answer that suits the loss: the mean, "
                 "with poisson its logarithm, with mae and huber the median, with quantile that "
                 "quantile. Medians and quantiles are of a sample of the training rows. false: it "
                 "begins with 0.")),
    Member(
        &ModelSpec::positive,
        Key("positive")
            .With(Task::kClassification)
            .Later()
            .After("thresholds")
            .Example("yes")
            .Doc(
                "Two classes: label of the positive one, for average_precision and "
                "train.threshold. "
                "By default the second class. Classes that are whole numbers are in numeric order, "
                "others in bytewise order.")),
    Member(
        &ModelSpec::costs,
        Key("costs")
            .With(Loss::kSoftmaxCrossEntropy)
            .Later()
            .After("positive")
            .Example("{faulty: {sound: 20}}")
            .Doc("Cost of predicting a class, here sound, for rows of another, here faulty. Other "
                 "mistakes cost 1. The class with the lowest expected cost is predicted. By "
                 "default the most probable one.")));

}  // namespace espalier::spec
