// The fields of all structs of the spec: the only list. YAML, the bounds, the reference, the Params
// of Spark, the fingerprint and model.json follow from it.
//
// Thread rule: constants.
#pragma once

#include "src/spec/field_list.h"
#include "src/spec/fields_data.h"
#include "src/spec/fields_input.h"
#include "src/spec/fields_job.h"
#include "src/spec/fields_model.h"
#include "src/spec/fields_train.h"
