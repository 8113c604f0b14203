// Fields of the schema and of the preprocessing in model.json. They are not keys of a job.
//
// Thread rule: constants.
#pragma once

#include "src/spec/field_list.h"
#include "src/spec/input.h"

namespace espalier::spec {

template <>
inline constexpr auto kFields<FeatureRule> = Declare(Member(&FeatureRule::type, Key("type")),
                                                     Member(&FeatureRule::group, Key("group")),
                                                     Member(&FeatureRule::part, Key("part")));

template <>
inline constexpr auto kFields<LeftOutColumn> = Declare(
    Member(&LeftOutColumn::column, Key("column")), Member(&LeftOutColumn::reason, Key("reason")));

template <>
inline constexpr auto kFields<Schema> = Declare(Member(&Schema::names, Key("names")),
                                                Member(&Schema::features, Key("features")),
                                                Member(&Schema::rules, Key("rules")),
                                                Member(&Schema::label, Key("label")),
                                                Member(&Schema::weight, Key("weight")),
                                                Member(&Schema::validation, Key("validation")),
                                                Member(&Schema::partitions, Key("partitions")),
                                                Member(&Schema::left_out, Key("left_out").Later()));

template <>
inline constexpr auto kFields<FittedFeature> =
    Declare(Member(&FittedFeature::name, Key("name")), Member(&FittedFeature::shift, Key("shift")),
            Member(&FittedFeature::factor, Key("factor")),
            Member(&FittedFeature::null_value, Key("null_value")),
            Member(&FittedFeature::null_indicator, Key("null_indicator")),
            Member(&FittedFeature::codes, Key("codes")),
            Member(&FittedFeature::embedding, Key("embedding")),
            Member(&FittedFeature::hashed, Key("hashed")),
            Member(&FittedFeature::vocabulary, Key("vocabulary")),
            Member(&FittedFeature::smooth_clip, Key("smooth_clip").Later()),
            Member(&FittedFeature::bin_edges, Key("bin_edges").Later()));

template <>
inline constexpr auto kFields<FittedTarget> =
    Declare(Member(&FittedTarget::name, Key("name")), Member(&FittedTarget::shift, Key("shift")),
            Member(&FittedTarget::factor, Key("factor")),
            Member(&FittedTarget::range, Key("range").Later()),
            Member(&FittedTarget::start, Key("start").Later()));

template <>
inline constexpr auto kFields<Preprocessing> =
    Declare(Member(&Preprocessing::features, Key("features")),
            Member(&Preprocessing::targets, Key("targets")),
            Member(&Preprocessing::classes, Key("classes")),
            Member(&Preprocessing::class_weights, Key("class_weights")),
            Member(&Preprocessing::label_smoothing, Key("label_smoothing").Later()));

}  // namespace espalier::spec
