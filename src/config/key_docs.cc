// The text of the reference: one entry a key.
#include "src/config/reference.h"

namespace espalier::config {
namespace {

constexpr KeyDoc kDocs[] = {
    {"name", nullptr, "Name of the job, at most 128 bytes."},
    {"preset", nullptr,
     "What fills the keys that the job does not give: good, the default; fast, with half of the "
     "epochs, one fit and no calibration; best, which averages eight fits of tables of 8,000 "
     "rows or more; none, the defaults in this reference. A given key replaces that key of the "
     "preset. A given train.optimizer also replaces the learning rate, the weight decay and the "
     "parametrization. `espalier check --effective` prints the complete job. A job with `compat` "
     "has no preset. A job that takes all weights from a file has one only if it is given."},

    // ---- data ----------------------------------------------------------------------------------
    {"data", nullptr, "The table: its files, its columns, and which rows are held out."},
    {"data.train", nullptr,
     "REQUIRED. Input of the training rows: a file, a pattern, a directory, or a list of these. "
     "Paths are local or start with hdfs://. Files in Hive partition directories (`name=value`) "
     "are read too; each partition name is a column, after the columns of the file. All files "
     "need the same partition names. A directory's value replaces the value in the file. LIBSVM "
     "text has no partition columns. A file next to its compressed copy is an error."},
    {"data.test", nullptr, "Input of rows for the final evaluation only, as data.train."},
    {"data.format", "csv",
     "By default, the extension of a file decides: .parquet; .csv, .libsvm and .svm, each also "
     "with .gz, .zst, .bz2, .xz, .lz4 or .snappy. Other files are CSV. In Parquet, a list of "
     "numbers `v` is the features "
     "v[0], v[1] and so on, and so is a Spark vector, dense or sparse; `columns: v` selects all "
     "of them. The field b of a struct a is the column a.b. In LIBSVM text, column 0 is the label "
     "and column i is the feature with index i; "
     "`features: \"1..784\"` selects 784 of them. In wide rows that are mostly 0, zeros take no "
     "memory and no time, unless the job has embedded numbers or a scaling layer, as with `preset: "
     "good`."},
    {"data.csv", nullptr, "The form of CSV files."},
    {"data.csv.header", nullptr, "true: the first line of each file names the columns."},
    {"data.csv.delimiter", nullptr,
     "One character, such as \"\\t\" for tabs or \"\\x01\" for Hive's text tables. whitespace: "
     "runs "
     "of blanks and tabs."},
    {"data.csv.quote", nullptr,
     "The character around fields that contain a delimiter. none: quotes are plain text."},
    {"data.csv.multiline", nullptr,
     "true: quoted fields may contain line breaks. Each file is then read by one worker."},
    {"data.csv.decimal", "\",\"",
     "Decimal sign of numbers: a point, the default, or a comma, as in 28,7."},
    {"data.csv.thousands", "\".\"",
     "Character between groups of three digits, as in 1.234,5: a comma, a point, an underscore, an "
     "apostrophe or a blank. A blank also means no-break spaces. By default there is none."},
    {"data.csv.escape", "\"\\\\\"",
     "Character before a quote inside a quoted field, as Spark writes it; twice, it means "
     "itself. With `quote: none`, it also makes a delimiter plain text, as in Hive and MySQL. By "
     "default a quote inside a quoted field is written twice. none: the same, and a field may end "
     "in two backslashes."},
    {"data.csv.comment", "\"#\"",
     "Lines that start with this character are left out. By default there are none."},
    {"data.csv.extra_field", nullptr,
     "Which field is left out where rows have one field more than the header has names. last: the "
     "empty field after a delimiter at the end of each line. first: the row names of R. auto: last "
     "if it is empty in the first rows, otherwise first. none: these rows are bad rows. Without a "
     "header, auto leaves out a last field that is empty in the first rows."},
    {"data.libsvm", "{zero_based: true}", "The form of LIBSVM text."},
    {"data.libsvm.zero_based", nullptr,
     "true: indices count from 0, so index i is column i + 1, and column 1 is the first feature. "
     "An index 0 is an error otherwise."},
    {"data.label", nullptr,
     "REQUIRED, except for task autoencoder. Column to predict: a name, or a position counted "
     "from 0. A regression may have several. A multilabel job has several, each 0 or 1, true or "
     "false, yes or no."},
    {"data.weight", "w",
     "Column of row weights, each at least 0. A training row of weight 0 is left out. With "
     "precision float32, a weight above 0 is at "
     "least 1.2e-38. By default, every row weighs 1."},
    {"data.features", nullptr,
     "The columns that the model uses, and how. `features: \"1..784\"` is short for {columns: "
     "\"1..784\"}."},
    {"data.features.columns", nullptr,
     "auto: all columns except label, weight and validation column. The rows decide what a "
     "column without a group holds, by its values that are not null: it is numeric when "
     "at least half of them are numbers; a date when at least half are dates, or all are numbers "
     "such as 202402 or 20240229; a boolean when all are; otherwise a one-hot category. In "
     "Parquet, date and timestamp columns are dates, and other columns except text are numeric. "
     "Whole numbers are numeric; name them in a group to make them categories. These columns are "
     "left out: text that differs in at least 95 % of 50 values or more; an unnamed column that "
     "numbers the rows; the index of a pandas frame; and, in tables of at least 10 rows, a column "
     "that is empty or constant. Numbers such as 28,7, 1,234, $5, 12%, 5kg or (5) and dates such "
     "as 02/03/2024 are an error that names the keys to set. `check`, `train`, `submit` and "
     "`status` show the result, and model.json keeps it. Or names, positions and ranges such as "
     "\"1..784\" (inclusive), one or a list: these "
     "columns are numeric. Whole numbers above 2^53 become the nearest double."},
    {"data.features.scale", nullptr,
     "Scaling of numeric inputs. robust: (x - median) / (upper quartile - lower quartile), from "
     "a sample of 4,096 rows; with more than 16 of these columns from fewer rows, but at least "
     "1,024 up to 4,096 columns. {divide: 255}: x / 255. robust_smooth_clip: z / sqrt(1 + (z / "
     "3)^2), with z as for robust; it is between -3 and 3. Equal quartiles are replaced by half "
     "the range."},
    {"data.features.exclude", "[id_*, 12]",
     "Columns that are not features: names, positions, ranges, and names with * and ?. Each entry "
     "must match a column."},
    {"data.features.date_format", "\"%d/%m/%Y %H:%M\"",
     "How text and numbers of dates are written, for groups without date_format and for auto. "
     "Directives: %Y %y %m %d %j %b %B %H %I %M %S %f %p %z %Z %a %A %F %T %%. auto, the default: "
     "see type: date."},
    {"data.features.nulls", nullptr,
     "What a missing value means: an empty field, a word of data.null_values, or a usual word for "
     "null, such as NA, N/A, NaN, NULL, None, NaT, ?, - or Hive's \\N. In a category only the "
     "empty field, \\N and data.null_values are missing. fail: the row is bad. mean: the "
     "mean of the column. median: its median, from the sample of scale: robust. drop: the row is "
     "left out. {constant: 0}: that number."},
    {"data.features.groups", "[{columns: [age, income], log1p: true}]",
     "Columns with settings that differ from the ones above. They are features too."},
    {"data.features.groups[].columns", nullptr, "As data.features.columns, without auto."},
    {"data.features.groups[].type", nullptr,
     "boolean: true, false, yes, no, 1, 0. date: text such as 2024-02-29, 2024/02/29, "
     "29.02.2024, 2024-02-29 23:59:58 or 20240229T235958, with Z, UTC or an offset after the time "
     "or without one; Parquet's dates and timestamps; or numbers: 20240229 is that day and 202402 "
     "that month (years 1900 to 2199), other numbers are seconds since 1970. A column whose dates "
     "are all in 1970 is an error. categorical: text or whole numbers. Blanks at "
     "both ends are removed, and 1.0 equals 1. Parquet's dates are text such as 2024-02-29, its "
     "timestamps text such as 2024-02-29 23:59:58.5 in UTC."},
    {"data.features.groups[].scale", "minmax",
     "By default data.features.scale; categories are not scaled."},
    {"data.features.groups[].nulls", "mean",
     "By default data.features.nulls. category, the default of categorical columns: null is a "
     "value."},
    {"data.features.groups[].null_indicator", nullptr,
     "true: one more input, 1 where the value is null and 0 elsewhere."},
    {"data.features.groups[].log1p", nullptr, "true: log(1 + x) instead of x."},
    {"data.features.groups[].parts", nullptr,
     "Numbers to take from a date, in UTC. weekday: 0 (Monday) to 6. yearday: 1 to 366. epoch: "
     "seconds since 1970."},
    {"data.features.groups[].date_format", "\"%m/%d/%Y\"",
     "How dates are written, as data.features.date_format, which is the default."},
    {"data.features.groups[].encode", "{embedding: 8}",
     "Encoding of a category. one_hot, the default: one input per value. {embedding: 8}: 8 trained "
     "numbers per value."},
    {"data.features.groups[].hash", nullptr,
     "Number of buckets that the values of a category are hashed to, for columns with any number "
     "of values. 0: each value has its own code, for at most 10,000 values, or 1,000,000 if "
     "min_count leaves 10,000."},
    {"data.features.groups[].min_count", nullptr,
     "Values in fewer training rows than this share one code. Unseen values have that code too, "
     "or none if every training value is more frequent."},
    {"data.features.groups[].one_hot_max", nullptr,
     "A column of at most this number of values, without null, is one-hot with all of its values, "
     "although the group has an embedding. 0: no column."},
    {"data.features.groups[].zero_rare", nullptr,
     "true: rare values, null and unseen values have no code, and their inputs are 0. In a column "
     "without a frequent value, all rows share one code."},
    {"data.features.null_indicators", nullptr,
     "true: a number without a group that is null in a training row gets one more input: 1 where "
     "the value is null, 0 elsewhere. Requires nulls: mean, median or {constant: 0}."},
    {"data.features.categories", "{encode: {embedding: 8}, min_count: 30}",
     "Encoding of categorical columns without a group, with the keys of groups."},
    {"data.features.categories.encode", "{embedding: 8}", "As in groups."},
    {"data.features.categories.hash", nullptr, "As in groups."},
    {"data.features.categories.min_count", nullptr, "As in groups."},
    {"data.features.categories.one_hot_max", nullptr, "As in groups."},
    {"data.features.categories.zero_rare", nullptr, "As in groups."},
    {"data.features.numbers", "{embedding: piecewise_linear}",
     "How the network takes in all features except categories. Not with task autoencoder."},
    {"data.features.numbers.embedding", nullptr,
     "piecewise_linear: trained inputs of each number that are linear over each bin of its "
     "values."},
    {"data.features.numbers.width", nullptr, "Inputs of one number; 1 to 64."},
    {"data.features.numbers.bins", nullptr,
     "Largest number of bins of one column; 2 to 256. A column of few values has an edge at each. "
     "In other columns, each value with more rows than a bin is an edge, and the other rows are "
     "cut at equal counts. The edges follow from a sample of 65,536 training rows, which depends "
     "on "
     "the data alone; with more than 32 numbers from fewer rows, 16 MiB in all."},
    {"data.validation", nullptr,
     "Rows to evaluate during training: a fraction, a column, files or a fold, also by group or by "
     "time. none: all rows are for training."},
    {"data.validation.fraction", nullptr,
     "Share of the training rows, chosen by a seed, or the latest rows by `time`."},
    {"data.validation.stratify", nullptr,
     "true: the fraction or the fold has the same share of each class, or of each stratum of a "
     "number (`strata`), except for at most one row in each MiB of text or row group of Parquet."},
    {"data.validation.strata", "[10, 20, 50]",
     "Regression with `stratify`: bounds between the strata of the label. By default the deciles "
     "of a sample of the rows."},
    {"data.validation.exact", nullptr,
     "true: the fraction or the fold has its share of the rows, except for at most one row in each "
     "MiB of text or row group of Parquet. false: each row is drawn by itself."},
    {"data.validation.column", "is_val",
     "Validation rows are those where this column is true or 1."},
    {"data.validation.files", nullptr, "Separate files of validation rows, as data.train."},
    {"data.validation.fold", "0", "Number of the part that is held out, counted from 0."},
    {"data.validation.of", "5", "Number of parts. With `fold`."},
    {"data.validation.seed", "1",
     "Seed of the fraction or the fold. With it, jobs of different train.seed have the same "
     "validation rows. By default train.seed."},
    {"data.validation.group", "customer",
     "Column of groups, such as customers. The fraction or the fold takes whole groups. "
     "`features: auto` leaves the column out."},
    {"data.validation.time", "day",
     "Column of dates or numbers that order the rows in time. The fraction takes the latest rows. "
     "Folds are consecutive intervals of time. `features: auto` leaves the column out."},
    {"data.validation.from", "1704067200",
     "With `time`: validation rows begin here, in seconds since 1970 or as the number of the "
     "column. With `group`: as a hash from 0 to 1. By default the profiling pass finds it."},
    {"data.validation.to", "1735689600", "Validation rows end before this, as `from`."},
    {"data.bad_rows", nullptr, "What to do with a row that cannot be read."},
    {"data.bad_rows.policy", nullptr,
     "fail: the first bad row ends the job. skip: it is left out, with the lines up to the closing "
     "quote of a field that is open at the end of its line, if these are at most 64 KiB."},
    {"data.bad_rows.limit", nullptr,
     "REQUIRED with skip. Number of bad rows, over all files, above which the job fails."},
    {"data.null_values", "[unknown, -999]",
     "Text and numbers that mean null in all columns, in addition to the usual words. The label "
     "of a class is missing if it is one of these; without this key, if it is a usual word for "
     "null. [] makes NA and None names of classes."},
    {"data.shuffle", nullptr,
     "Order of the rows in each epoch. full: a random order of all rows. {window: 100000}: "
     "random "
     "within windows of that many rows, for tables that exceed the memory."},
    {"data.shard_bytes", nullptr, "Size of the parts that files are read in; 1 KiB to 1 GiB."},
    {"data.raw", nullptr,
     "true: read every file of a Delta, Hudi, Iceberg or ACID Hive table, also those with deleted "
     "or replaced rows. By default, these tables are refused."},

    // ---- model ---------------------------------------------------------------------------------
    {"model", nullptr, "The network."},
    {"model.task", nullptr,
     "multilabel: several labels a row. autoencoder: the model returns its numeric features. Job "
     "files with a preset may say auto, or nothing. Then labels of text, truth values and at most "
     "20 "
     "different whole numbers mean classification; other numbers mean regression. `check` and "
     "`train` print the choice."},
    {"model.hidden", nullptr,
     "Widths of the hidden layers, such as [256, 256]. Without any, the model is linear."},
    {"model.activation", nullptr, "One for all hidden layers, or a list with one for each."},
    {"model.dropout", nullptr,
     "Share of hidden units that are switched off at random; at least 0, below 1. One for all "
     "hidden layers, or a list with one for each."},
    {"model.layer_norm", nullptr,
     "true: the sums of each hidden layer are normalized before the activation."},
    {"model.residual", nullptr,
     "true: a hidden layer that is as wide as the previous one adds its input to its output."},
    {"model.loss", "{huber: {delta: 1}}",
     "By default softmax_cross_entropy for classification, binary_cross_entropy for multilabel, "
     "mse for regression and autoencoder. Classification also takes binary_cross_entropy; "
     "autoencoder mae and huber; regression mae, huber, poisson (for counts: the prediction is "
     "exp of the output) and quantile. The loss of a regression is that of scaled targets "
     "(target_scale); the loss of an autoencoder is that of scaled features."},
    {"model.loss.*.label_smoothing", nullptr,
     "Share of each label that is spread evenly over all classes; at least 0, below 1."},
    {"model.loss.huber.delta", nullptr,
     "Error above which the loss is linear, in standard deviations of the target unless "
     "target_scale is none."},
    {"model.loss.quantile.quantile", nullptr, "The quantile to predict; above 0, below 1."},
    {"model.init", "he",
     "Start weights. By default he for relu, leaky_relu, elu, gelu and silu, xavier for the "
     "other activations."},
    {"model.parametrization", nullptr,
     "ntp: each layer computes W x / sqrt(inputs) + b. W and embeddings start with variance 1, "
     "whatever `init` is. The model stores W / sqrt(inputs). Not with optimizer lbfgs."},
    {"model.scaling_layer", nullptr,
     "true: each input of the first layer is multiplied by a trained factor, 1 at the start."},
    {"model.cap_label_smoothing", nullptr,
     "Classification. true: label_smoothing is at most the share of the rarest class."},
    {"model.start_at_constant", nullptr,
     "true: training of a regression begins with the constant answer that suits the loss: the "
     "mean, with poisson its logarithm, with mae and huber the median, with quantile that "
     "quantile. "
     "Medians and quantiles are of a sample of the training rows. false: it begins with 0."},
    {"model.clip_predictions", nullptr,
     "Regression. true: predictions stay within the range of the training targets. Metrics use "
     "these predictions, but the loss does not."},
    {"model.precision", nullptr, "Type of weights and computation."},
    {"model.target_scale", "standard",
     "Regression. standard, the default: targets have mean 0 and deviation 1 in training, and "
     "predictions are scaled back. none: for loss poisson, which requires it."},
    {"model.thresholds", nullptr,
     "softmax_cross_entropy: one number per class. The class with the largest probability / "
     "threshold is predicted. By default the most probable one."},
    {"model.positive", "yes",
     "Two classes: label of the positive one, for average_precision and train.threshold. By "
     "default the second class. Classes that are whole numbers are in numeric order, others in "
     "bytewise order."},
    {"model.costs", "{faulty: {sound: 20}}",
     "softmax_cross_entropy: cost of predicting a class, here sound, for rows of another, here "
     "faulty. Other mistakes cost 1. The class with the lowest expected cost is predicted. By "
     "default the most probable one."},
    {"model.inputs", "784",
     "Number of inputs that the data must give. The job is refused otherwise. By default any."},
    {"model.outputs", "10",
     "Number of classes or targets that the data must give. The job is refused otherwise. By "
     "default any."},

    // ---- train ---------------------------------------------------------------------------------
    {"train", nullptr, "How the model is trained."},
    {"train.mode", nullptr,
     "sync: all workers compute parts of one batch, and the model does not depend on their "
     "number. async: one worker holds the weights. Each worker takes them, computes the gradient "
     "of `batch` of its rows and sends it; each gradient is a step. Training does not wait for a "
     "slow worker, except in evaluations. The model then depends on the speed of the workers, "
     "and the rows of a slow worker count less. If the worker with the weights dies, training "
     "continues from the newest checkpoint. async excludes gd, lbfgs and accumulate_steps; at "
     "most `leaves` workers take part."},
    {"train.staleness", "4",
     "async: a gradient is computed again if more steps than this were taken since its weights "
     "were read. By default twice the number of workers, at least 4."},
    {"train.optimizer", nullptr,
     "A word, or a word with its settings. gd: gradient descent, one update an epoch from all "
     "rows, computed `batch` rows at a time. lbfgs: L-BFGS over all rows; each point that it "
     "evaluates is an epoch. It has converged when the norm of the gradient is at most "
     "tolerance * objective, or when the objectives of 20 iterations differ by at most "
     "tolerance * the first one. weight_decay and l1 are part of the objective; with l1, a "
     "search may end early where a weight is 0. Metrics and evaluations are those of the start "
     "and of the end of each iteration. lbfgs ignores data.shuffle. It excludes dropout, "
     "schedule, clipping, accumulate_steps and averaging."},
    {"train.optimizer.*.learning_rate", nullptr,
     "Learning rate of a whole batch. lbfgs: the step that a search tries first."},
    {"train.optimizer.*.momentum", nullptr, "Share of the previous update that is added."},
    {"train.optimizer.*.beta1", nullptr, "Decay of the mean of gradients."},
    {"train.optimizer.*.beta2", nullptr, "Decay of the mean of squared gradients."},
    {"train.optimizer.*.epsilon", nullptr, "Number that is added to the denominator."},
    {"train.optimizer.*.alpha", nullptr, "Decay of the mean of squared gradients."},
    {"train.optimizer.*.centered", nullptr,
     "true: the denominator is the deviation instead of the root mean square."},
    {"train.optimizer.*.initial_accumulator_value", nullptr,
     "Start of the sums of squared gradients."},
    {"train.optimizer.*.history", nullptr, "Number of steps from which curvature is estimated."},
    {"train.optimizer.*.line_search", nullptr, "How the length of a step is found."},
    {"train.optimizer.*.max_line_search", nullptr, "Largest number of points of one search."},
    {"train.optimizer.*.tolerance", nullptr, "Convergence, as above; 0: almost never."},
    {"train.optimizer.*.max_iterations", nullptr, "Maximum number of iterations."},
    {"train.optimizer.*.step_tolerance", nullptr,
     "Training ends when an update, except the first, moves the weights by less than this times "
     "their norm, or times 1 if the norm is below 1. 0: never."},
    {"train.schedule", nullptr,
     "Learning rate over time. step: multiplied by `factor` after each `every`. exponential: the "
     "same, evenly spread. cosine and polynomial: from the start to the end of training. "
     "plateau: multiplied by `factor` after `patience` evaluations without improvement."},
    {"train.schedule.*.warmup", nullptr,
     "Time of linear increase from 0, such as 1 epochs or 100 steps."},
    {"train.schedule.*.warmup_share", nullptr,
     "The same as a share of all steps; at least 0, below 1. Requires epochs or steps."},
    {"train.schedule.*.every", nullptr, "Time between reductions, such as 3 epochs or 100 steps."},
    {"train.schedule.*.factor", nullptr, "Factor of a reduction."},
    {"train.schedule.*.final_fraction", nullptr, "Rate at the end / rate at the start."},
    {"train.schedule.*.power", nullptr, "Power of the polynomial; 1 is linear."},
    {"train.schedule.*.metric", nullptr, "As train.early_stopping.metric."},
    {"train.schedule.*.patience", nullptr, "Number of evaluations."},
    {"train.schedule.*.min_delta", nullptr, "Smallest change that is an improvement."},
    {"train.schedule.*.cooldown", nullptr,
     "Number of evaluations after a reduction that do not count."},
    {"train.schedule.*.min_learning_rate", nullptr, "Lowest learning rate."},
    {"train.batch", nullptr,
     "Rows of a step, over all workers; with mode async, of one worker. 8192 by default with gd "
     "and lbfgs. auto: 32 for fewer than 500 training rows, 64 below 2,000, 128 below 8,000, 256 "
     "below 30,000; from there on the power of two next to rows / 240, from 512 to 8192."},
    {"train.leaves", nullptr,
     "Number of parts of a batch, 1 to 1024. At most that many workers share a step. The model "
     "depends on it, and not on the number of workers. auto: batch / 64, rounded down to a power "
     "of two; with mode async at least 16, or `batch` if that is less."},
    {"train.epochs", nullptr,
     "Maximum number of epochs of each fit; may be a fraction, such as 0.5. By default 10, if "
     "neither steps nor max_time is set. auto: 100 for fewer than 2,000 training rows, 24 below "
     "8,000, 16 below 200,000, 8 below 1,000,000, 6 above; half of that with preset: fast."},
    {"train.steps", "1000", "Maximum number of steps of each fit."},
    {"train.max_time", "30 min", "Maximum time of the training; ms, s, min, h or d."},
    {"train.early_stopping", "{metric: val_loss, patience: 10}",
     "Ends training when a metric stops improving. By default off."},
    {"train.early_stopping.metric", nullptr,
     "Of validation rows: val_loss; classes: val_accuracy, val_precision, val_recall, val_f1, "
     "val_auc and val_average_precision (two classes); multilabel: also val_f1_micro and "
     "val_f1_macro; numbers: val_rmse, "
     "val_mae, val_r2. Of training rows: the same without val_, as means over an epoch while it "
     "trains. precision, recall and f1 are means over classes or labels, weighted by rows."},
    {"train.early_stopping.patience", nullptr, "Number of evaluations without improvement."},
    {"train.early_stopping.min_delta", nullptr, "Smallest change that is an improvement."},
    {"train.early_stopping.restore_best", nullptr,
     "true: the weights of the best evaluation are saved. false: the last weights."},
    {"train.weight_decay", nullptr,
     "adamw: decoupled. Other optimizers: an L2 penalty of weight_decay / 2 * |W|^2 next to the "
     "mean loss. scikit-learn's alpha is this number times the rows of a batch."},
    {"train.l1", nullptr,
     "L1 penalty: this number times the sign of each weight is added to the "
     "gradient."},
    {"train.decay_biases", nullptr,
     "true: weight_decay and l1 also apply to biases and layer norms."},
    {"train.weight_decay_schedule", nullptr,
     "flat_cos: weight_decay is constant over the first half of the training and then falls to 0 "
     "along half a cosine. Requires epochs or steps."},
    {"train.rate_factors", "{biases: 0.1}",
     "Multiples of the learning rate. Not with optimizer lbfgs."},
    {"train.rate_factors.biases", nullptr,
     "For the biases of layers, and the gains and shifts of layer norms."},
    {"train.rate_factors.scaling_layer", nullptr, "For the factors of model.scaling_layer."},
    {"train.rate_by_batch", nullptr,
     "sqrt: the learning rate times sqrt(batch / 256), of batches above 256."},
    {"train.clip_norm", nullptr,
     "Largest norm of the gradient; 0: no limit. It is applied before clip_value."},
    {"train.clip_value", nullptr, "Largest size of each element of the gradient; 0: no limit."},
    {"train.accumulate_steps", nullptr,
     "Number of steps whose gradients make one update. The last update of an epoch may have "
     "fewer."},
    {"train.ensemble", "{fits: 5, over: folds}",
     "Several trainings of the same network, one after another. The model averages their "
     "predictions. By default one."},
    {"train.ensemble.fits", nullptr, "Number of trainings, 1 to 64."},
    {"train.ensemble.over", nullptr,
     "folds: each fit holds out another part of the training rows, which serves as its validation "
     "rows. Classes keep their shares. seeds: all fits have the same rows, and differ by their "
     "first weights and the order of rows."},
    {"train.ensemble.folds", "10",
     "Number of parts of the training rows, with over: folds. By default as many as fits. The "
     "fits hold out the first ones."},
    {"train.ensemble.shrink", nullptr,
     "true: all predictions move towards the constant answer, which is the shares of the classes "
     "or the mean of the target. The share that does is the one with the least loss of the "
     "held-out rows. For small tables."},
    {"train.calibrate", nullptr,
     "true: the outputs of a classifier are divided by a temperature, the one with the least loss "
     "of the held-out rows. Requires validation rows or folds."},
    {"train.threshold", "f1",
     "Two classes with softmax_cross_entropy: uses the held-out rows to choose the threshold of "
     "the "
     "probability above which model.positive is predicted. accuracy, f1: the highest one. recall, "
     "precision: the highest recall with at least min_precision, or the highest precision with at "
     "least min_recall. cost: the lowest mean cost per row. Requires validation rows or folds. "
     "none: model.thresholds decides."},
    {"train.threshold.*.min_precision", nullptr,
     "Precision that the threshold must have on the held-out rows."},
    {"train.threshold.*.min_recall", nullptr,
     "Recall that the threshold must have on the held-out rows."},
    {"train.threshold.*.false_positive", nullptr,
     "Cost of a row of the negative class that is predicted positive."},
    {"train.threshold.*.false_negative", nullptr,
     "Cost of a row of the positive class that is predicted negative."},
    {"train.intervals", "0.9",
     "Regression: share of rows that prediction intervals contain. Their half-width is this "
     "quantile of the absolute residuals of the held-out rows (split conformal prediction). "
     "predict writes them as lower_TARGET and upper_TARGET. 0: no intervals."},
    {"train.averaging", nullptr,
     "Averages of the weights after each update, which are evaluated and saved instead of the "
     "last weights. ema: an exponential average. mean: the mean of all."},
    {"train.averaging.*.decay", nullptr, "Share that the average keeps at an update."},
    {"train.averaging.*.start", nullptr, "Time before the first update that counts."},
    {"train.class_weight", nullptr,
     "Weights of classes, in addition to data.weight and in training only. balanced: rows / "
     "(classes * rows of the class). A map such as {no: 1, yes: 5}: 1 for labels that are not "
     "in it. multilabel: the weight of a 1 of each label (PyTorch's pos_weight), such as "
     "{spam: 3}; balanced is rows with 0 / rows with 1, from 0.001 to 1000."},
    {"train.initial", "models/old",
     "Start weights: a model, a safetensors file with these tensors, or a checkpoint of another "
     "run, of a network with the same layers. A run (OUTPUT.checkpoints) means its newest "
     "checkpoint. Scales, categories and classes of a model or run are kept. New categories and "
     "classes of a model get fresh weights; a run cannot get new ones. A model or run must have "
     "the same columns in the same order. By "
     "default train.seed draws the weights."},
    {"train.initial.from", nullptr, "The model, file or run."},
    {"train.initial.layers", nullptr,
     "Numbers of the layers to take, counted from 0; the output layer is the last. By default "
     "all."},
    {"train.initial.spark", nullptr,
     "true: numbers in Spark's order, from a text file or `values`: for each layer the matrix of "
     "outputs x inputs by columns, then the bias."},
    {"train.initial.values", nullptr, "The numbers, instead of a file."},
    {"train.initial.refit_preprocessing", nullptr,
     "true: scales, categories and classes follow from the data of this job. Categories and "
     "classes "
     "must then be those of the model."},
    {"train.frozen", nullptr,
     "Numbers of the layers that keep their start weights, such as [0, 1]."},
    {"train.on_nonfinite", nullptr,
     "What to do with a step whose loss or gradient is not finite. fail: the job ends, also when "
     "the loss of validation rows is not a number. skip: the step is left out."},
    {"train.seed", nullptr, "Seed of weights, dropout, shuffle and validation; 0 to 2^64 - 1."},
    {"train.checkpoint", nullptr,
     "State of the job in OUTPUT.checkpoints, for a start after all workers are lost and for "
     "--resume. none: off. It does not change the model. The checkpoints of a successful job are "
     "removed, unless the job has this key."},
    {"train.checkpoint.every", nullptr, "Time between checkpoints, at least 1 s."},
    {"train.checkpoint.every_steps", "1000",
     "Steps between checkpoints, instead of `every`; with both, the first decides."},
    {"train.checkpoint.keep", nullptr, "Number of checkpoints that are kept, 1 to 1000."},

    // ---- the rest ------------------------------------------------------------------------------
    {"workers", nullptr, "The workers that the job takes."},
    {"workers.min", nullptr, "Number of workers that the job waits for."},
    {"workers.max", nullptr, "Largest number of workers; 0: no limit."},
    {"workers.cache_input", nullptr,
     "true: workers keep what they read from HDFS on their disks, and parsed rows in half of "
     "their memory, for the next job over the same files. The jobs of a sweep do so by default."},
    {"output", nullptr, "REQUIRED. `output: PATH` is short for {path: PATH}."},
    {"output.path", nullptr, "Directory of the model, which the job creates."},
    {"output.overwrite", nullptr, "true: an existing model is replaced."},
    {"resume", "models/job",
     "Continues an earlier run. `resume: RUN` is short for {from: RUN}. By default none."},
    {"resume.from", nullptr,
     "Output of that run, or its .checkpoints directory: its newest complete checkpoint. The "
     "job must be the same except for name, output, workers and checkpoints. epochs, steps, "
     "max_time and early_stopping may also differ. max_time starts again. With several fits, some "
     "of them finished before a later end, each fit goes on with a new optimizer state. It keeps "
     "its best weights until others are better."},
    {"resume.accept_data", nullptr, "true: continue although the data has changed."},
    {"resume.accept_arithmetic", nullptr,
     "true: continue although another BLAS or version computes. model.json records both."},

    // ---- other programs' words -----------------------------------------------------------------
    {"compat", "{spark-mlp: {layers: [4, 5, 3]}}",
     "A job in the words of another program, instead of some of the sections above."},
    {"compat.spark-mlp.layers", nullptr,
     "REQUIRED. Number of features, widths of the hidden layers, number of classes. The data "
     "must agree. The network has sigmoid layers and softmax, in float64; features are not "
     "scaled. It replaces `model`, and optimizer, schedule, epochs, seed and initial of "
     "`train`."},
    {"compat.spark-mlp.solver", nullptr, "Spark's optimizer."},
    {"compat.spark-mlp.maxIter", nullptr, "Number of iterations."},
    {"compat.spark-mlp.tol", nullptr, "l-bfgs: `tolerance`. gd: `step_tolerance`."},
    {"compat.spark-mlp.stepSize", nullptr, "Learning rate of gd."},
    {"compat.spark-mlp.blockSize", nullptr,
     "Ignored. Spark's loss is the mean over blocks of their means, so a row of a smaller last "
     "block counts more there."},
    {"compat.spark-mlp.initialWeights", "start.txt",
     "A text file or a list of numbers in Spark's order: for each layer the matrix of outputs x "
     "inputs by columns, then the bias. By default the seed draws them; these are not the "
     "numbers that Spark draws."},
    {"compat.spark-mlp.seed", nullptr, "As train.seed."},
    {"compat.spark-mlp.thresholds", nullptr, "As model.thresholds."},
    {"compat.sparktorch.iters", nullptr,
     "Number of steps. The network stays in `model`, the optimizer in train.optimizer; gd and "
     "lbfgs only with miniBatch and mode synchronous."},
    {"compat.sparktorch.miniBatch", nullptr, "Rows of each partition in a step; -1: all."},
    {"compat.sparktorch.partitions", nullptr,
     "workers.max, unless that is given. Times miniBatch it is train.batch."},
    {"compat.sparktorch.partitionShuffles", nullptr,
     "Factor of iters. Rows are shuffled in each epoch in any case."},
    {"compat.sparktorch.validationPct", nullptr, "data.validation.fraction."},
    {"compat.sparktorch.earlyStopPatience", nullptr,
     "Evaluations of val_loss, or of the loss of training rows without validationPct; -1: off. "
     "There is one evaluation an epoch; SparkTorch counts iterations."},
    {"compat.sparktorch.verbose", nullptr, "Ignored; the client decides what it shows."},
    {"compat.sparktorch.mode", nullptr,
     "hogwild: train.mode async with batch miniBatch, which is required, and iters * partitions "
     "steps."},

    // ---- predict, evaluate ---------------------------------------------------------------------
    {"predict", nullptr,
     "A job that applies a model to a table has `predict` instead of data, model and train. It may "
     "have `name` and `workers`. `output` is REQUIRED: a directory for part files. With "
     "`output: {path: PATH, overwrite: true}` it replaces an earlier prediction when this one is "
     "complete."},
    {"predict.model", nullptr, "REQUIRED. Directory of a trained model."},
    {"predict.data", nullptr,
     "REQUIRED. As data.train. Columns are found by name, or by position in files without a "
     "header."},
    {"predict.data_format", "parquet", "Form of the data; by default the extension decides."},
    {"predict.raw", nullptr, "As data.raw."},
    {"predict.format", "parquet",
     "Form of the part files; by default parquet if `output` ends in .parquet, otherwise csv."},
    {"predict.keep", "[customer, day]", "Columns of the data to copy to the output."},
    {"predict.columns", "prediction", "Classification: the columns to add; by default both."},
    {"predict.spreadsheet_safe", nullptr,
     "true, in CSV: an apostrophe before text that starts with = + - @, a tab or a line break, "
     "which a spreadsheet may run as a formula."},
    {"predict.on_bad_row", nullptr,
     "What happens to a row that cannot be scored. empty: a line without a prediction, with the "
     "reason in the column `error`, which is empty in other lines; reject: no line, and the reason "
     "in OUTPUT/_rejects; fail: an error."},
    {"predict.rejects_limit", "10",
     "Largest number of rows without a score; by default all rows but one."},
    {"evaluate", nullptr,
     "A job that tests a model on a table with labels has `evaluate` instead of data, model and "
     "train. It may have `name` and `workers`. Its metrics are the result of the job. "
     "`output: report.html` also writes them as a page with charts, which replaces an existing "
     "one."},
    {"evaluate.model", nullptr, "REQUIRED. Directory of a trained model."},
    {"evaluate.data", nullptr, "REQUIRED. As predict.data, with the column of the label."},
    {"evaluate.data_format", "parquet", "As predict.data_format."},
    {"evaluate.raw", nullptr, "As data.raw."},

    // ---- sweep ---------------------------------------------------------------------------------
    {"sweep.job", nullptr,
     "REQUIRED. Job file, relative to the directory of this one, or the keys of a job."},
    {"sweep.output", nullptr, "REQUIRED. Directory for the models of the runs and sweep.json."},
    {"sweep.grid", nullptr, "Lists of values for keys of the job. All combinations are tried."},
    {"sweep.random", nullptr, "Values drawn at random, instead of a grid."},
    {"sweep.random.trials", "20", "Number of draws."},
    {"sweep.random.seed", nullptr, "The same seed draws the same values."},
    {"sweep.random.keys", "{train.l1: {log_uniform: [1e-6, 1e-2]}}",
     "For each key a list of values, {uniform: [0, 1]}, {log_uniform: [1e-4, 1]} or "
     "{whole: [8, 64]}. Both ends of `whole` are included."},
    {"sweep.folds", "5", "Number of folds of cross-validation; by default none."},
    {"sweep.stratify", nullptr, "true: as data.validation.stratify, for the folds."},
    {"sweep.refit", nullptr,
     "true, with folds: a last job, OUTPUT/best-NNN, with the values of the best trial, on all "
     "rows except those of the job's validation."},
    {"sweep.metric", nullptr, "Metric of the held-out rows that decides which trial is the best."},
    {"sweep.parallel", "4",
     "Number of jobs that run at a time; by default as many as there are workers for, with "
     "workers.min of the job each."},
};

}  // namespace

std::span<const KeyDoc> KeyDocs() { return kDocs; }

}  // namespace espalier::config
